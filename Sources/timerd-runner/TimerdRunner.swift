// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CLinux
import Glibc
import HostFiles
import HostThreads
import Synchronization
import Systemd
import TimerConfig
import TimerCore
import TimerRunner
import TimerRunnerProtocol

/// The runner's program. It owns the processes of jobs, so that they continue, end in time, and
/// their exit statuses are known, even if the scheduler ends.
@main
struct TimerdRunner: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timerd-runner",
        abstract: "Own the processes of timerd's jobs, separately from its scheduler.",
        discussion: """
            SIGTERM and SIGINT end every job and then the runner. The configuration is read again on SIGHUP, \
            when the scheduler has read it again, and when it requests a run that the configuration did not have the \
            last time.
            """,
        version: "0.1.0")

    @Option(
        help: ArgumentHelp(
            "The configuration file; files in jobs.d beside it are read as well.", valueName: "file"
        ),
        completion: .file())
    var config: String

    @Option(
        help: ArgumentHelp(
            "The directory for the socket and the records of active runs; lost at a reboot.",
            valueName: "directory"), completion: .directory)
    var runtime: String

    @Option(
        help: ArgumentHelp(
            "The socket (default: runner.sock in the runtime directory).", valueName: "path"),
        completion: .file())
    var socket: String?

    @Option(
        help: ArgumentHelp(
            "The user whose scheduler may connect, in addition to root (default: this program's).",
            valueName: "user"))
    var schedulerUser: String?

    @Option(
        help: ArgumentHelp(
            """
            The user as whom a runner of root sends notifications (default: timerd-notify, or nobody if there is no \
            such user).
            """, valueName: "user"))
    var notifyUser: String?

    @Flag(help: "Return once the socket is ready, and continue in a new session.")
    var detach = false

    /// Passed by `--detach` to the process that it starts.
    @Option(help: .private)
    var readyDescriptor: Int32?

    @Option(
        help: ArgumentHelp(
            "End after this time without a scheduler and without a run (default: never).",
            valueName: "span"), transform: Self.span)
    var exitIdle: Duration?

    @Flag(
        help:
            "Give each run a control group below this program's, which must be delegated to it.")
    var controlGroups = false

    @Option(
        help: ArgumentHelp(
            """
            The target of the log: auto is the journal if standard error is connected to it, otherwise standard error; json is \
            standard error, with one JSON object per line.
            """, valueName: "target"))
    var log = LogTarget.auto

    enum LogTarget: String, CaseIterable, ExpressibleByArgument {
        case auto
        case json
    }

    private static func span(_ text: String) throws -> Duration {
        let span: Duration?
        do throws(TimeSpanError) { span = try TimeSpan.parse(text) } catch {
            throw ValidationError("\(error)")
        }
        guard let span else {
            throw ValidationError("\(text) never ends; leave the option out instead")
        }
        return span
    }

    static func main() {
        // This comes first: from here on no signal is lost, and none ends this process directly.
        Runner.blockSignals([SIGCHLD] + RunnerServer.signals)
        do {
            let runner = try parse()
            if runner.log == .json { isJSON.store(true, ordering: .relaxed) }
            try runner.run()
        } catch let error where exitCode(for: error) == .validationFailure {
            put(WrongUsage.text(fullMessage(for: error)) + "\n")
            exit(withError: ExitCode(WrongUsage.status))
        } catch {
            exit(withError: error)
        }
    }

    /// The time between SIGTERM and SIGKILL for jobs when the runner is stopped.
    static let grace: Duration = .seconds(10)

    func run() throws {
        umask(0o077)
        RunnerProcess.showName("timerd-runner")
        clinux_heap_keep_small()
        let notify = takeNotify()
        let program = OwnProgram()
        do {
            let user = try scheduler()
            if detach {
                try RunnerProcess.detach(CommandLine.arguments.filter { $0 != "--detach" })
            }
            let ready = try readyDescriptor.map { descriptor throws(Runner.Failure) in
                try RunnerProcess.Readiness(descriptor: descriptor)
            }
            RunnerProcess.hideMemory()
            RunnerProcess.limitMemory()
            signal(SIGPIPE, SIG_IGN)
            goFirst()
            let server = try makeServer(for: user, replacing: notify.isSupervised ? program : nil)
            try server.handleSignals(grace: Self.grace)
            _ = notify.ready(status: "Serving")
            ready?.tell()
            server.run()
        } catch {
            Self.say("cannot start: \(error)", priority: Self.error)
            throw ExitCode(1)
        }
    }

    /// Raises the priority of the runner above that of its jobs, as far as it is permitted: runs
    /// must start, and be terminated at their time limit, even if jobs use all CPU time. Each job
    /// has its own nice value.
    private func goFirst() {
        ThreadSlice.takeShortest()
        if ThreadNice.current >= 0 { ThreadNice.set(ThreadNice.first) }
    }

    /// Takes the notification socket of the service manager. The variables of the service manager
    /// are removed from the environment, because jobs can get variables from there; the runner does
    /// not use the others.
    private func takeNotify() -> Notify {
        for name in ["WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]
        {
            unsetenv(name)
        }
        return Notify.take()
    }

    private func scheduler() throws -> UInt32 {
        guard let schedulerUser else { return geteuid() }
        switch UserDatabase.user(named: schedulerUser) {
        case .found(let user): return user.uid
        case .missing:
            throw Directory.Failure(
                description: "--scheduler-user: there is no user \"\(schedulerUser)\"")
        case .failed(let code):
            throw Directory.Failure(
                description: "--scheduler-user: cannot look up the user \"\(schedulerUser)\": "
                    + "\(String(cString: strerror(code))); try again when the user database answers"
            )
        }
    }

    /// The user as whom messages are sent: not root, who could read everything, and not the user of
    /// the scheduler, who could change it. A runner of another user has no choice.
    private func messageUser() throws -> String? {
        guard geteuid() == 0 else { return nil }
        if let notifyUser {
            guard Self.isUser(notifyUser) else {
                throw Directory.Failure(
                    description: "--notify-user: there is no user \"\(notifyUser)\"")
            }
            return notifyUser
        }
        return Self.isUser(Self.standardMessageUser) ? Self.standardMessageUser : "nobody"
    }

    private static let standardMessageUser = "timerd-notify"

    private static func isUser(_ name: String) -> Bool {
        if case .found = UserDatabase.user(named: name) { true } else { false }
    }

    /// - Parameter program: the program that the service manager restarts when this process ends;
    ///   nil if there is no service manager.
    private func makeServer(for user: UInt32, replacing program: OwnProgram?) throws -> RunnerServer
    {
        let directory = try Directory.open(runtime)
        try directory.lock("runner.lock", of: "timerd-runner", option: "--runtime")
        let registry = try directory.subdirectory("runs")
        let credentials = try directory.subdirectory("credentials")
        // A run gets the path of its own directory; it must not be able to list the names of the
        // others.
        fchmod(credentials.descriptor, 0o711)
        let socket = try UnixSocket.bind(
            at: socket ?? "\(runtime)/\(RunnerSocket.fileName)", allowing: .user(user))
        let path = config
        let trace = ConfigTrace(path)
        var settings = RunnerServer.Settings(
            socket: socket, users: [user, geteuid()], registry: registry.descriptor,
            definitions: {
                let definitions = Self.read(path, trace)
                // Reading needs several times the memory of its result.
                clinux_heap_give_back()
                return definitions
            }, say: { Self.say($0) })
        settings.options.adoptsOrphans = true
        settings.options.credentials = try credentials.resolvedPath()
        settings.options.usesControlGroups = controlGroups && enterControlGroup()
        settings.idleMax = exitIdle
        settings.messageUser = try messageUser()
        settings.messageCredentials = getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) }
        if let program { settings.isReplaced = { program.isReplaced() } }
        settings.hasChanged = { trace.hasChanged() }
        settings.isAffected = { trace.isAffected($0) }
        settings.kept = { trace.kept }
        settings.unchangedFor = { trace.unchangedFor }
        settings.discard = { jobs in
            do throws(Directory.Failure) {
                try OneOffDirectory(besideConfig: path).remove(jobs.map(\.description))
            } catch { Self.say("\(error)") }
        }
        settings.didApply = { trace.take() }
        settings.freeFormer = {
            trace.freeFormer()
            clinux_heap_give_back()
        }
        // A scheduler with its own user, as under systemd, cannot shut the runner down, and no job
        // may run as that user.
        let isApart = user != geteuid()
        settings.allowsShutDown = !isApart
        settings.options.refusedUser = isApart ? user : nil
        return try RunnerServer(settings)
    }

    /// Moves this process into its own control group, beside those of the runs. If the system
    /// delegates none, as with version 1 for users, runs have no control groups.
    /// - Returns: whether each run can have its own control group.
    private func enterControlGroup() -> Bool {
        do throws(Runner.Failure) {
            try Runner.enterControlGroup()
            return true
        } catch {
            Self.say(
                "no control groups for runs: \(error); processes that leave the process group of their run are not ended with it"
            )
            return false
        }
    }

    /// Reads the configuration like the scheduler, with the same checks; jobs with errors are not
    /// loaded here either.
    private static func read(
        _ path: String, _ trace: ConfigTrace
    ) -> Result<RunnerServer.Definitions, RunnerServer.Unreadable> {
        trace.note()
        do throws(ConfigError) {
            let reading = try ConfigReader.load(path: path, ownerUID: geteuid())
            trace.note(reading)
            return .success(
                Dictionary(reading.jobSet.jobs.map { ($0.name, Definition($0)) }) { first, _ in
                    first
                })
        } catch {
            return .failure(RunnerServer.Unreadable("\(error.file): \(error.message)"))
        }
    }

    /// Writes to the log. Under systemd, standard error is a stream to the journal, which blocks
    /// while the journal hangs and stays broken after the journal was restarted. Native entries
    /// have neither problem. In the foreground, standard error is the scheduler's.
    private static func say(_ text: String, priority: Int = warning) {
        if isJSON.load(ordering: .relaxed) { return put(line(text, priority)) }
        guard let journal else { return put("timerd-runner: \(text)\n") }
        journal.send(
            message: text, priority: priority,
            fields: [("SYSLOG_IDENTIFIER", "timerd-runner")])
    }

    private static func line(_ text: String, _ priority: Int) -> String {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        var line = JSONLine()
        line.add(
            "time",
            WallInstant(
                clockSeconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec)
            ).rfc3339Micros)
        line.add("level", priority == error ? "error" : "warning")
        line.add("message", text)
        line.add("program", "timerd-runner")
        return line.line
    }

    /// Writes the line with one system call, so that it does not mix with lines of the scheduler.
    /// An error cannot be reported anywhere.
    private static func put(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }

    private static let isJSON = Atomic(false)
    /// The journal, if standard error is connected to it.
    private static let journal = Journal.isStderr ? Journal() : nil
    /// Priorities of syslog(3).
    private static let error = 3
    private static let warning = 4
}
