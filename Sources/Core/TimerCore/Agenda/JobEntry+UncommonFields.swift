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
        var awaitsEnd = false
        var sleptBefore = Duration.zero
        var endInPause: EndInPause?
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

    /// Whether the interval of the job waits for the end of its runs.
    var awaitsEnd: Bool {
        get { uncommon?.wrappedValue.awaitsEnd ?? false }
        set { if newValue != awaitsEnd { change { $0.awaitsEnd = newValue } } }
    }

    /// The last end of a run during a pause.
    var endInPause: EndInPause? {
        get { uncommon?.wrappedValue.endInPause }
        set { if newValue != endInPause { change { $0.endInPause = newValue } } }
    }

    /// How long the machine had slept in this boot when that wait began.
    var sleptBefore: Duration {
        get { uncommon?.wrappedValue.sleptBefore ?? .zero }
        set { if newValue != sleptBefore { change { $0.sleptBefore = newValue } } }
    }

    private mutating func change(_ body: (inout UncommonFields) -> Void) {
        var value = uncommon?.wrappedValue ?? UncommonFields()
        body(&value)
        uncommon = value == UncommonFields() ? nil : Boxed(wrappedValue: value)
    }
}
