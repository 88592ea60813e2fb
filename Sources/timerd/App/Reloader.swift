// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging
import TimerConfig
import TimerControl
import TimerCore

/// Reads the configuration again and hands the new roster to the loop, one reload after the other, on a
/// queue of its own: a slow disk under the configuration holds up no timer.
final class Reloader: Sendable {
    private let path: String
    private let user: UInt32
    private let loop: Loop
    private let supervision: Supervision
    private let clocks: Clocks
    private let log: Logger
    /// Whether the jobs run as the daemon's user, with the same view of the machine; a runner that is a service
    /// of its own sees users and files that this process may not.
    private let runsJobs: Bool
    /// How many runs may be active at once: as when the daemon started, whatever the configuration says by now.
    private let concurrentRunsMax: Int
    private let queue = DispatchQueue(label: "timerd.config", qos: .default)

    init(
        path: String, user: UInt32, loop: Loop, supervision: Supervision, clocks: Clocks,
        log: Logger, runsJobs: Bool, concurrentRunsMax: Int
    ) {
        self.path = path
        self.user = user
        self.loop = loop
        self.supervision = supervision
        self.clocks = clocks
        self.log = log
        self.runsJobs = runsJobs
        self.concurrentRunsMax = concurrentRunsMax
    }

    /// Reloads and calls `done` once the change is on the disk. With any error in it the configuration is
    /// refused as a whole, and everything stays as it was.
    func reload(
        by author: String, done: @escaping @Sendable (Result<ReloadReply, ErrorReply>) -> Void
    ) {
        queue.async { [self] in
            supervision.reloading(at: clocks.now())
            // What executes runs reads it at the same time, and so has it when the first job changes.
            loop.launcher.refresh()
            switch read() {
            case .success(let reading): take(reading, done)
            case .failure(let errors): refuse(errors, by: author, done)
            }
        }
    }

    /// Says what a reload would change, or why it would be refused. Nothing is changed.
    func preview(
        done: @escaping @Sendable (Result<ReloadPreviewReply, ErrorReply>) -> Void
    ) {
        queue.async { [self] in
            switch read() {
            case .success(let reading):
                loop.later { [queue] loop in
                    loop.preview(reading.roster) { preview in
                        queue.async {
                            let warnings = reading.warningSentences
                            done(.success(ReloadPreviewReply(preview, warnings: warnings)))
                        }
                    }
                }
            case .failure(let errors):
                done(
                    .failure(
                        ErrorReply(
                            "\(path): \(errors.count); a reload would be refused",
                            details: errors.sentences)))
            }
        }
    }

    /// What keeps a configuration from being taken.
    private struct Errors: Error {
        var sentences: [String]
        var number: Int

        /// How many, in words.
        var count: String { plural(number, "error") }
    }

    /// Reads the configuration; any error in it refuses it as a whole.
    private func read() -> Result<ConfigReading, Errors> {
        defer { Heap.giveBackSoon() }
        do throws(ConfigError) {
            let reading = try ConfigReader.load(
                path: path, ownerUID: user, seed: MachineID.seed,
                checks: ConfigChecks(at: clocks.now().wall, asksMachine: runsJobs),
                concurrentRunsMax: concurrentRunsMax)
            guard reading.errors.isEmpty else {
                return .failure(
                    Errors(
                        sentences: reading.errors.map(\.description), number: reading.errorCount))
            }
            return .success(reading)
        } catch {
            return .failure(Errors(sentences: [error.description], number: 1))
        }
    }

    private func take(
        _ reading: ConfigReading,
        _ done: @escaping @Sendable (Result<ReloadReply, ErrorReply>) -> Void
    ) {
        let warnings = reading.warningSentences
        for warning in warnings { log.warning("\(warning)") }
        let new = Loop.NewRoster(reading.roster, rejected: reading.rejections)
        loop.later { [self] loop in
            loop.reload(new) { [self] notice in
                queue.async { [self] in reply(to: notice, warnings, done) }
            }
        }
    }

    private func reply(
        to notice: Notice?, _ warnings: [String],
        _ done: @Sendable (Result<ReloadReply, ErrorReply>) -> Void
    ) {
        supervision.ready("Configuration reloaded")
        guard case .reloaded(let added, let changed, let removed, let kept) = notice else {
            return done(.failure(ErrorReply("the daemon is stopping")))
        }
        done(
            .success(
                ReloadReply(
                    added: added.map(\.description), changed: changed.map(\.description),
                    removed: removed.map(\.description), kept: kept, warnings: warnings)))
    }

    private func refuse(
        _ errors: Errors, by author: String,
        _ done: @Sendable (Result<ReloadReply, ErrorReply>) -> Void
    ) {
        for error in errors.sentences { log.error("\(error)") }
        let message =
            "\(path): \(errors.count); the current configuration is kept (reload requested by \(author))"
        log.error("\(message)")
        let refusal =
            "reload refused, \(errors.count) in \(path); the current configuration is kept"
        supervision.ready("R" + refusal.dropFirst())
        loop.later { $0.note(configRefusal: refusal) }
        done(.failure(ErrorReply(message, details: errors.sentences)))
    }
}

extension ConfigReading {
    /// How many warnings of one reload are told.
    static let warningsMax = 100

    /// The warnings without the notes; of very many the first, and how many others there are.
    var warningSentences: [String] {
        let warnings = warnings.filter { !$0.isNote }
        let told = warnings.prefix(Self.warningsMax)
        let more = warningCount - told.count
        return told.map(\.description)
            + (more > 0 ? ["and \(more) more; see `timerd check`"] : [])
    }
}
