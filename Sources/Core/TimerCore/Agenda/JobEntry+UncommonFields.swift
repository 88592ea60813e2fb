// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Fields that few jobs need. They are behind one reference, so that the entries of most jobs are
/// small.
extension JobEntry {
    struct UncommonFields: Hashable, Sendable {
        var clockEpoch = 0
        var skips = 0
        var maxLoss = Duration.zero
        var countedAfterPause = Duration.zero
        var isDueThisBoot = false
        var endWait = EndWait()
    }

    /// How often the wall clock was corrected backwards. It distinguishes occurrences with the same
    /// time before and after a correction.
    var clockEpoch: Int {
        get { uncommon?.wrappedValue.clockEpoch ?? 0 }
        set { if newValue != clockEpoch { change { $0.clockEpoch = newValue } } }
    }

    /// How many of the next firings will be skipped because a user requested it.
    var skips: Int {
        get { uncommon?.wrappedValue.skips ?? 0 }
        set { if newValue != skips { change { $0.skips = newValue } } }
    }

    /// The maximum part of the elapsed time that may not have been counted because of a crash.
    var maxLoss: Duration {
        get { uncommon?.wrappedValue.maxLoss ?? .zero }
        set { if newValue != maxLoss { change { $0.maxLoss = newValue } } }
    }

    /// The time that counted since a pause ended by itself before this daemon instance started.
    var countedAfterPause: Duration {
        get { uncommon?.wrappedValue.countedAfterPause ?? .zero }
        set { if newValue != countedAfterPause { change { $0.countedAfterPause = newValue } } }
    }

    /// Whether the firing of this boot has not happened yet.
    var isDueThisBoot: Bool {
        get { uncommon?.wrappedValue.isDueThisBoot ?? false }
        set { if newValue != isDueThisBoot { change { $0.isDueThisBoot = newValue } } }
    }

    /// What its interval knows of the end of its runs.
    var endWait: EndWait {
        get { uncommon?.wrappedValue.endWait ?? EndWait() }
        set { if newValue != endWait { change { $0.endWait = newValue } } }
    }

    private mutating func change(_ body: (inout UncommonFields) -> Void) {
        var value = uncommon?.wrappedValue ?? UncommonFields()
        body(&value)
        uncommon = value == UncommonFields() ? nil : Boxed(wrappedValue: value)
    }
}
