// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore
public import TimerRunnerProtocol

extension RunnerServer {
    /// The definitions of each job's runs in the configuration.
    public typealias Definitions = [Job.Name: Definition]

    /// The rules in the configuration that apply to all runs.
    public struct RunRules: Hashable, Sendable {
        /// The most active runs; further runs wait. By default no limit.
        public var activeMax = Int.max
        /// The users as whom runs may execute; nil: any. A run of another user fails.
        public var allowedUsers: AllowedUsers?
        /// The notifiers, which say how messages are sent.
        public var notifiers: [Notifier.Name: Notifier] = [:]

        /// No limits, all users, and no notifiers.
        public init() {}
    }

    /// The reason why the configuration cannot be read.
    public struct Unreadable: Error, Hashable {
        /// What is wrong with the configuration, as a sentence.
        public var description: String

        /// A configuration that cannot be read, for this reason.
        public init(_ description: String) { self.description = description }
    }

    /// What a server is created with, and what it calls.
    public struct Settings: Sendable {
        /// A bound socket; the server listens on it and closes it.
        public var socket: Int32
        /// The users whose schedulers may connect, in addition to root.
        public var users: [UInt32]
        /// A descriptor of the directory of the run registry.
        public var registry: Int32
        /// The files to make again if they are deleted, among them those of the socket and of the registry; nil: none.
        public var files: RunnerFiles?
        public var options = Runner.Options()
        /// How long the server runs without a scheduler and without a run; nil: without limit.
        public var idleMax: Duration?
        /// Whether a scheduler may terminate every run and the server.
        public var allowsShutDown = true
        /// The user as whom messages are sent; nil: the user of this process.
        public var messageUser: String?
        /// `$CREDENTIALS_DIRECTORY`, in which the secret addresses of notifiers are; nil if it is not
        /// set. No part of the path may be a symbolic link.
        public var messageCredentials: String?
        /// Whether the configuration may have changed since it was last read. It is called before
        /// runs start, and should return quickly.
        public var hasChanged: @Sendable () -> Bool = { false }
        /// Whether the definition of a job may have changed since the reading in use, according to
        /// the last call of `hasChanged`. Only the runs of such jobs wait until the configuration
        /// is read again.
        public var isAffected: @Sendable (Job.Name) -> Bool = { _ in true }
        /// The jobs that the last result of `definitions` does not contain because of an error in
        /// the files: their definitions do not change. It is called on the thread that called
        /// `definitions`.
        public var kept: @Sendable () -> Set<Job.Name> = { [] }
        /// Called when the last result of `definitions` takes effect.
        /// - Returns: its rules for all runs, which apply whatever the scheduler requests.
        public var didApply: @Sendable () -> RunRules = { RunRules() }
        /// Whether the program of this process was replaced. It is called when a scheduler
        /// connects, and when the configuration is read again. `run` then returns as soon as no run
        /// is active, so that the next runner can start.
        public var isReplaced: @Sendable () -> Bool = { false }
        /// Called on its own thread after the definitions of very many jobs were freed.
        public var freeFormer: @Sendable () -> Void = {}
        /// Removes the definitions of these one-off jobs. Called on a thread of its own.
        public var discard: @Sendable ([Job.Name]) -> Void = { _ in }
        /// For how long the files of the configuration have not changed since the last result of
        /// `definitions`, as far as `hasChanged` has checked. An editor that writes a file in place
        /// empties it first: a job that is missing in files that have just changed may be there a
        /// moment later, so its runs wait.
        public var unchangedFor: @Sendable () -> Duration = { .seconds(Int64.max) }
        var limits = RunnerLimits()
        /// What conditions ask about.
        var machine = MachineState()
        /// Reads the configuration; may take long. The parameter is the last result, if all of it and
        /// nothing else is in use: most of the next result is the same.
        public var definitions: @Sendable (Definitions?) -> Result<Definitions, Unreadable>
        /// Writes to the log of the runner itself.
        public var log: @Sendable (String) -> Void

        /// The required settings; the others have defaults.
        public init(
            socket: Int32, users: [UInt32], registry: Int32,
            definitions: @escaping @Sendable (Definitions?) -> Result<Definitions, Unreadable>,
            log: @escaping @Sendable (String) -> Void
        ) {
            self.socket = socket
            self.users = users
            self.registry = registry
            self.definitions = definitions
            self.log = log
        }
    }
}
