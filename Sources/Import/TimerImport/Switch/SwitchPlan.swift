// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What is known of a source that is switched. It is read from the files and from systemd each time, and kept
/// nowhere else, so that a switch can be interrupted anywhere.
public struct SwitchState: Hashable, Sendable {
    /// Its file in jobs.d.
    public enum File: Hashable, Sendable, CaseIterable {
        case missing
        /// Its jobs run only while the source is off.
        case guarded
        case plain
    }

    public var file: File
    /// Whether cron or systemd runs its jobs.
    public var isSourceOn: Bool

    public init(_ file: File, isSourceOn: Bool) {
        (self.file, self.isSourceOn) = (file, isSourceOn)
    }

    /// Whether timerd runs its jobs.
    public var isTimerdOn: Bool {
        switch file {
        case .missing: false
        case .guarded: !isSourceOn
        case .plain: true
        }
    }

    /// A single change. Each is atomic, and on the disk before the next one begins.
    public enum Step: Hashable, Sendable {
        /// Writes the file, with guards.
        case load
        case addGuards
        case removeGuards
        case removeFile
        /// Switches the source, which decides which side runs the jobs. It needs a quiet moment.
        case switchOff
        case switchOn

        /// Whether it changes the source.
        public var isCommit: Bool { self == .switchOff || self == .switchOn }
    }

    public enum Direction: Hashable, Sendable, CaseIterable {
        case toTimerd
        case back
    }

    /// The next change in this direction; nil if nothing is left to do.
    public func next(_ direction: Direction) -> Step? {
        switch (direction, file, isSourceOn) {
        case (.toTimerd, .missing, true): .load
        // The lines were switched off, and the file of their jobs is gone: only `--back` helps.
        case (.toTimerd, .missing, false): nil
        case (.toTimerd, .guarded, true): .switchOff
        case (.toTimerd, .guarded, false): .removeGuards
        // Something else has switched the source on again, and both run the jobs.
        case (.toTimerd, .plain, true): .addGuards
        case (.toTimerd, .plain, false): nil
        case (.back, .missing, true): nil
        case (.back, .missing, false): .switchOn
        case (.back, .guarded, true), (.back, .plain, true): .removeFile
        case (.back, .guarded, false): .switchOn
        case (.back, .plain, false): .addGuards
        }
    }

    /// The state after a change.
    public func after(_ step: Step) -> SwitchState {
        switch step {
        case .load, .addGuards: SwitchState(.guarded, isSourceOn: isSourceOn)
        case .removeGuards: SwitchState(.plain, isSourceOn: isSourceOn)
        case .removeFile: SwitchState(.missing, isSourceOn: isSourceOn)
        case .switchOff: SwitchState(file, isSourceOn: false)
        case .switchOn: SwitchState(file, isSourceOn: true)
        }
    }
}
