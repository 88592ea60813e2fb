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
        defer { Self.flushLog() }
        umask(0o077)
        RunnerProcess.showName("timerd-runner")
        // One for each thread of the first reading, so that what one of them frees does not lie between
        // pieces of another that stay.
        clinux_heap_keep_small(5)
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
            ready?.notifyParent()
            server.run()
        } catch {
            Self.log("cannot start: \(error)", priority: Self.error)
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
}
