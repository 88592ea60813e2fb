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

/// The runner's program: it owns the processes of jobs, so that whatever becomes of the scheduler, they go
/// on, end in their time, and their ends are known.
@main
struct TimerdRunner: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timerd-runner",
        abstract: "Own the processes of timerd's jobs, apart from its scheduler.",
        discussion: """
            SIGTERM and SIGINT end every job and then the runner. The configuration is read again on SIGHUP, \
            when the scheduler has read it again, and when it asks for what the configuration did not have the \
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
            "The user whose scheduler is served, beside root (default: this program's).",
            valueName: "user"))
    var schedulerUser: String?

    @Flag(help: "Return once the socket is ready, and go on in a session of its own.")
    var detach = false

    /// What `--detach` starts this program with.
    @Option(help: .private)
    var readyDescriptor: Int32?

    @Option(
        help: ArgumentHelp(
            "End after this time without a scheduler and without a run (default: never).",
            valueName: "span"), transform: Self.span)
    var exitIdle: Duration?

    @Flag(
        help:
            "Give each run a control group below this program's, which must be its to divide.")
    var controlGroups = false

    @Option(
        help: ArgumentHelp(
            """
            Where the log goes; auto is the journal if standard error leads there, and else standard error; json is \
            standard error as well, one object on a line.
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
        // Before anything else: from here on no signal is lost, and none ends this process by itself.
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

    /// How long jobs have from SIGTERM to SIGKILL when the runner is told to end.
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
            _ = notify.ready(status: "ServerLoop")
            ready?.tell()
            server.run()
        } catch {
            Self.say("cannot start: \(error)", priority: Self.error)
            throw ExitCode(1)
        }
    }

    /// Has the runner go before its jobs, as far as it may: what is due is to start, and what outlives its time
    /// to end, though they take all the CPU there is. Each job has its own nice value.
    private func goFirst() {
        ThreadSlice.takeShortest()
        if ThreadNice.current >= 0 { ThreadNice.set(ThreadNice.first) }
    }

    /// The notification socket of the service manager. Its variables are removed from the environment, since jobs can
    /// get variables from there; the runner uses none of the others.
    private func takeNotify() -> Notify {
        for name in ["WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]
        {
            unsetenv(name)
        }
        return Notify.take()
    }

    private func scheduler() throws -> UInt32 {
        guard let schedulerUser else { return geteuid() }
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 65_536)
        guard getpwnam_r(schedulerUser, &entry, &buffer, buffer.count, &found) == 0, found != nil
        else {
            throw Directory.Failure(
                description: "--scheduler-user: there is no user \"\(schedulerUser)\"")
        }
        return entry.pw_uid
    }

    /// - Parameter program: the program that the service manager starts again when this process ends; nil if there is
    ///   no service manager.
    private func makeServer(for user: UInt32, replacing program: OwnProgram?) throws -> RunnerServer
    {
        let directory = try Directory.open(runtime)
        try directory.lock("runner.lock", of: "timerd-runner", option: "--runtime")
        let registry = try directory.subdirectory("runs")
        let credentials = try directory.subdirectory("credentials")
        // A run finds its own in there; the names of the others are not for it to list.
        fchmod(credentials.descriptor, 0o711)
        let socket = try UnixSocket.bind(
            at: socket ?? "\(runtime)/\(RunnerSocket.fileName)", admitting: .user(user))
        let path = config
        let trace = ConfigTrace(path)
        var settings = RunnerServer.Settings(
            socket: socket, users: [user, geteuid()], registry: registry.descriptor,
            definitions: {
                let definitions = Self.read(path, trace)
                // Reading takes several times what is kept of it.
                clinux_heap_give_back()
                return definitions
            }, say: { Self.say($0) })
        settings.options.adoptsOrphans = true
        settings.options.credentials = try credentials.resolvedPath()
        settings.options.usesControlGroups = controlGroups && enterControlGroup()
        settings.idleMax = exitIdle
        if let program { settings.isReplaced = { program.isReplaced() } }
        settings.hasChanged = { trace.hasChanged() }
        settings.isAffected = { trace.isAffected($0) }
        settings.kept = { trace.kept }
        settings.isTaken = { trace.take() }
        settings.freeFormer = {
            trace.freeFormer()
            clinux_heap_give_back()
        }
        // A scheduler of a user of its own, as under systemd, neither ends what others begin nor is anybody's job.
        let isApart = user != geteuid()
        settings.obeysShutDown = !isApart
        settings.options.refusedUser = isApart ? user : nil
        return try RunnerServer(settings)
    }

    /// Enters a control group of its own, beside those of the runs. Where the system gives none away, as with version
    /// 1 to users, runs have none.
    /// - Returns: whether each run can have a control group of its own.
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

    /// Reads it as the scheduler does, with the same checks; jobs in error are none here either. Those that were there
    /// before stay as they are, as in the scheduler.
    private static func read(
        _ path: String, _ trace: ConfigTrace
    ) -> Result<RunnerServer.Definitions, RunnerServer.Unreadable> {
        trace.note()
        do throws(ConfigError) {
            let reading = try ConfigReader.load(path: path, ownerUID: geteuid())
            trace.note(reading)
            return .success(
                Dictionary(reading.roster.jobs.map { ($0.name, Definition($0)) }) { first, _ in
                    first
                })
        } catch {
            return .failure(RunnerServer.Unreadable("\(error.file): \(error.message)"))
        }
    }

    /// Under systemd standard error leads to the journal, over a stream that waits for one that is stuck and
    /// is broken for good once it was away: entries of our own do neither. In the foreground standard error
    /// is the scheduler's.
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
            WallInstant(clockSeconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec)).rfc3339)
        line.add("level", priority == error ? "error" : "warning")
        line.add("message", text)
        line.add("program", "timerd-runner")
        return line.line
    }

    /// In one write, so that it does not mix with what the scheduler writes. Nobody can be told if it fails.
    private static func put(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }

    private static let isJSON = Atomic(false)
    /// The journal, if it is where standard error leads.
    private static let journal = Journal.isStderr ? Journal() : nil
    /// Priorities of syslog(3).
    private static let error = 3
    private static let warning = 4
}
