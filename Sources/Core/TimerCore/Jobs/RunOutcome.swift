// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// How a run ended. A failed run is a result, not a thrown error. The text is the same in the
/// journal, the store and JSON: `exited(0)`, `signalled(SIGKILL)`, `spawn-failed(ENOENT, exec
/// /bin/x)`, `lost(reboot)`, `skipped(exit 75)`.
public enum RunOutcome: Hashable, Sendable, LosslessStringConvertible {
    /// The process ended with this exit code, 0 to 255.
    case exited(Int32)
    /// A signal of this name (`SIGKILL`) ended the process.
    case signalled(String)
    /// The run exceeded its time limit and was ended.
    case timedOut
    /// A newer firing replaced it.
    case replaced
    /// A user, or the daemon while it stopped, ended it.
    case stopped
    /// It was ended because the window of its job closed.
    case windowEnded
    /// The process could not be started: the name of the errno, and the step that failed with its
    /// object.
    case spawnFailed(errno: String, what: String)
    /// How it ended is not known, for this reason.
    case lost(Loss)
    /// The run had nothing to do, which is neither a success nor a failure.
    case skipped(Skip)

    /// What says that a run had nothing to do.
    public enum Skip: Hashable, Sendable {
        /// Its process, by this exit code, which is one of the job's `skip-exit-codes`.
        case exit(Int32)
        /// A condition of the job that was not met, as its key and value, such as `mounted
        /// /mnt/backup`; so no process was started. Not empty, without control characters.
        case condition(String)
    }

    /// Why the end of a run is not known.
    public enum Loss: String, CaseIterable, Hashable, Sendable {
        /// The machine was restarted or lost power while it ran.
        case reboot
        /// The daemon that managed its process ended while it ran.
        case daemon
        /// The runner that managed its process ended while it ran.
        case runner
        /// It never started, because its starting deadline had passed.
        case deadline
        /// It never started: the fleet gave it to this machine, but when its process was about to be
        /// created, the fleet might already have given up this machine.
        case unstarted
        /// The machine of the fleet on which it ran disappeared.
        case machine
    }

    /// What is recorded of a run that ended so: a process with one of these exit codes had nothing to
    /// do, and says so.
    public func judged(skipExitCodes codes: Set<Int32>) -> RunOutcome {
        if case .exited(let code) = self, codes.contains(code) {
            .skipped(.exit(code))
        } else {
            self
        }
    }

    /// Whether the run failed: it did not succeed, it was not ended on purpose, and it was not
    /// skipped.
    public func isFailure(_ success: SuccessExitStatus = SuccessExitStatus()) -> Bool {
        switch self {
        case .exited, .signalled, .timedOut, .spawnFailed, .lost: !success.contains(self)
        case .replaced, .stopped, .windowEnded, .skipped: false
        }
    }

    /// Whether it was ended on purpose: by a user, a newer run or its window.
    public var isIntended: Bool { intention != nil }

    /// What caused the end of a run that was ended on purpose, as a sentence; nil of others.
    var intention: String? {
        switch self {
        case .replaced: "a newer run replaced it"
        case .stopped: "it was stopped on request"
        case .windowEnded: "it was stopped because its window closed"
        case .exited, .signalled, .timedOut, .spawnFailed, .lost, .skipped: nil
        }
    }

    /// The result as which a run is counted that ended so.
    public func result(failed: Bool) -> RunResult {
        switch self {
        case .exited, .signalled: failed ? .failed : .success
        case .spawnFailed: .failed
        case .timedOut: .timedOut
        case .lost: .lost
        case .stopped, .windowEnded: .stopped
        case .replaced: .replaced
        case .skipped: .skipped
        }
    }

    /// The exit status of the process; nil if it did not end with one.
    public var exitCode: Int32? {
        switch self {
        case .exited(let code), .skipped(.exit(let code)): code
        case .signalled, .timedOut, .replaced, .stopped, .windowEnded, .spawnFailed, .lost,
            .skipped(.condition):
            nil
        }
    }

    /// The name of the signal that ended the process, such as `SIGKILL`; nil if none did.
    public var signal: String? { if case .signalled(let name) = self { name } else { nil } }

    /// How the process ended, in the words of systemd: the kind of end, then the number or the name
    /// of the signal. Nil if there was no process, if its end is not known, or if timerd ended it.
    public var exit: (code: String, status: String)? {
        switch self {
        case .exited(let code), .skipped(.exit(let code)): ("exited", "\(code)")
        case .signalled(let name): ("killed", "\(name.dropFirst(name.hasPrefix("SIG") ? 3 : 0))")
        case .timedOut, .replaced, .stopped, .windowEnded, .spawnFailed, .lost,
            .skipped(.condition):
            nil
        }
    }

    /// The kind of end in one word, without its details.
    public var reason: String {
        switch self {
        case .exited: "exited"
        case .signalled: "signalled"
        case .timedOut: "timed-out"
        case .replaced: "replaced"
        case .stopped, .windowEnded: "stopped"
        case .spawnFailed: "spawn-failed"
        case .lost: "lost"
        case .skipped: "skipped"
        }
    }

    /// What is known of a run without a process, whose end was not seen, or that was skipped; nil
    /// of others.
    public var detail: String? {
        switch self {
        case .spawnFailed(let errno, let what): "\(errno), \(what)"
        case .lost(let loss): loss.rawValue
        case .skipped(let skip): skip.description
        case .windowEnded: "window"
        case .exited, .signalled, .timedOut, .replaced, .stopped: nil
        }
    }

    public var description: String {
        switch self {
        case .exited(let code): "exited(\(code))"
        case .signalled(let name): "signalled(\(name))"
        case .timedOut: "timed-out"
        case .replaced: "replaced"
        case .stopped: "stopped"
        case .windowEnded: "stopped(window)"
        case .spawnFailed(let errno, let what): "spawn-failed(\(errno), \(what))"
        case .lost(let loss): "lost(\(loss.rawValue))"
        case .skipped(let skip): "skipped(\(skip))"
        }
    }

    /// Parses the text that `description` produces; nil for any other text.
    public init?(_ text: String) {
        func inside(_ kind: String) -> Substring? {
            text.hasPrefix(kind + "(") && text.hasSuffix(")")
                ? text.dropFirst(kind.count + 1).dropLast() : nil
        }
        switch text {
        case "timed-out": self = .timedOut
        case "replaced": self = .replaced
        case "stopped": self = .stopped
        case "stopped(window)": self = .windowEnded
        default:
            if let code = inside("exited").flatMap({ Int32(decimal: $0) }) {
                self = .exited(code)
            } else if let name = inside("signalled"), !name.isEmpty {
                self = .signalled(String(name))
            } else if let loss = inside("lost").flatMap({ Loss(rawValue: String($0)) }) {
                self = .lost(loss)
            } else if let skip = inside("skipped").flatMap({ Skip(String($0)) }) {
                self = .skipped(skip)
            } else if let parts = inside("spawn-failed")?.split(separator: ",", maxSplits: 1),
                parts.count == 2
            {
                self = .spawnFailed(
                    errno: String(parts[0]), what: String(parts[1].drop { $0 == " " }))
            } else {
                return nil
            }
        }
    }
}

extension RunOutcome.Skip: LosslessStringConvertible {
    public var description: String {
        switch self {
        case .exit(let code): "exit \(code)"
        case .condition(let what): "condition \(what)"
        }
    }

    /// Parses the text that `description` produces; nil for any other text.
    public init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty else { return nil }
        switch parts[0] {
        case "exit":
            guard let code = Int32(decimal: parts[1]) else { return nil }
            self = .exit(code)
        case "condition": self = .condition(String(parts[1]))
        default: return nil
        }
    }
}
