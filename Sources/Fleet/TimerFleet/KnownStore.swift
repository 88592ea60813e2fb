// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// A store that must not be used.
struct StoreRefusal {
    /// What is wrong with it.
    let finding: IdentityGuard.Finding
    /// What it has, for its adoption; nil: it cannot be adopted.
    let found: (snapshot: FleetSnapshot, view: FleetView?)?
}

/// What a machine knows of the store. It is in one of three states.
struct KnownStore {
    private enum State {
        /// The store is watched.
        case watched(FleetView)
        /// It is not, and nothing is decided by what was known when it last was; nil: it never was.
        case unwatched(former: FleetView?)
        /// It was read, and must not be used.
        case refused(StoreRefusal, former: FleetView?)
    }

    private var state = State.unwatched(former: nil)

    /// What decisions are made by; nil while the store is not watched, or must not be used.
    var view: FleetView? { if case .watched(let view) = state { view } else { nil } }

    /// What was known when it was last known; nil while it is watched.
    var former: FleetView? {
        switch state {
        case .watched: nil
        case .unwatched(let former), .refused(_, let former): former
        }
    }

    /// What is known now, or was last known: to be shown.
    var last: FleetView? { view ?? former }

    /// Why the store must not be used; nil: it may, or was not read yet.
    var refusal: StoreRefusal? { if case .refused(let refusal, _) = state { refusal } else { nil } }

    /// It was read, and is watched from now on.
    mutating func watch(_ view: FleetView) { state = .watched(view) }

    /// It is not watched any more. A refusal stays.
    mutating func lose() {
        if case .watched(let view) = state { state = .unwatched(former: view) }
    }

    /// It was read, and must not be used.
    mutating func refuse(_ refusal: StoreRefusal) { state = .refused(refusal, former: last) }

    /// It was read, and may be used, but is not watched yet.
    mutating func accept() {
        if case .refused(_, let former) = state { state = .unwatched(former: former) }
    }

    /// Changes what is known, if the store is watched.
    mutating func update<Fault: Error>(
        _ change: (inout FleetView) throws(Fault) -> Void
    ) throws(Fault) {
        guard case .watched(var view) = state else { return }
        // The only copy is changed, in its place.
        state = .unwatched(former: nil)
        defer { state = .watched(view) }
        try change(&view)
    }
}
