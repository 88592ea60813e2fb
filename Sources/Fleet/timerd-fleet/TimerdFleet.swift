// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import HostFiles
import HostThreads
import Synchronization
import Systemd
import TimerRunnerProtocol

/// `timerd-fleet`: the connection of a machine's scheduler to etcd. It is a process of its own, so that
/// the scheduler needs no network, and it decides nothing.
@main
enum TimerdFleet {
    private static let signals = [SIGTERM, SIGINT, SIGHUP]

    static func main() {
        // This comes first: from here on no signal is lost, and none ends this process directly.
        var blocked = SignalSet.of(signals)
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
        let request: CommandLineOptions.Request
        do throws(CommandLineOptions.Fault) {
            request = try CommandLineOptions.parse(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FleetLog.put("Error: \(error.description)\n\(CommandLineOptions.usage)\n")
            // As the other programs for a wrong command line.
            end(2)
        }
        switch request {
        case .help: FleetLog.put(CommandLineOptions.help + "\n", to: STDOUT_FILENO)
        case .version: FleetLog.put(CommandLineOptions.version + "\n", to: STDOUT_FILENO)
        case .serve(let options):
            let log = FleetLog(isJSON: options.isJSON)
            do throws(StartFailure) {
                try serve(options, log)
            } catch {
                log.write("cannot start: \(error)", 3)
                log.flush()
                end(1)
            }
            log.flush()
        }
        end(0)
    }

    /// Ends the process without the functions of atexit(3): those of libraries would free what other
    /// threads still use.
    private static func end(_ status: Int32) -> Never { _exit(status) }

    private static func serve(_ options: CommandLineOptions, _ log: FleetLog) throws(StartFailure) {
        umask(0o077)
        WorkerThread.showName("timerd-fleet")
        // Its threads mostly wait for etcd, and not for each other's allocations.
        clinux_heap_keep_small(2)
        // A library of TLS may write to a closed connection, which would end this process.
        signal(SIGPIPE, SIG_IGN)
        let notify = Notify.take()
        let user = try user(options.schedulerUser)
        let socket = try ServerSocket.open(options.socket, for: user)
        let requests = try FleetServer.Requests()
        try handleSignals(requests)
        var server = try FleetServer(
            FleetServer.Settings(
                socket: socket, users: [user, geteuid()],
                read: { FleetSource.read(options.config) }, log: { log.write($0, $1) },
                notify: { report($0, to: notify) }), requests)
        server.run()
    }

    private static func user(_ name: String?) throws(StartFailure) -> UInt32 {
        guard let name else { return geteuid() }
        switch UserDatabase.user(named: name) {
        case .found(let user): return user.uid
        case .missing: throw StartFailure("--scheduler-user: there is no user \"\(name)\"")
        case .failed(let code):
            throw StartFailure("--scheduler-user: cannot look up the user \"\(name)\"", code)
        }
    }

    /// Makes SIGTERM and SIGINT end the server, and SIGHUP read the configuration again. A signal that
    /// is already pending is handled too.
    private static func handleSignals(_ requests: FleetServer.Requests) throws(StartFailure) {
        let code = WorkerThread.start("fleet.signals") {
            var awaited = SignalSet.of(signals)
            var number: Int32 = 0
            while true {
                guard sigwait(&awaited, &number) == 0 else { continue }
                requests.state.withLock { state in
                    if number == SIGHUP { state.mustReload = true } else { state.mustEnd = true }
                }
                EventFD.signal(requests.wake)
            }
        }
        guard code == 0 else { throw StartFailure("cannot start a thread", code) }
    }

    private static func report(_ state: FleetServer.State, to notify: Notify) {
        switch state {
        case .ready(let status): _ = notify.ready(status: status)
        case .reloading: _ = notify.reloading(monotonic: RunnerClock.awake() / 1000)
        case .status(let status): _ = notify.status(status)
        case .stopping: _ = notify.stopping()
        }
    }
}
