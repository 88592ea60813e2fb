// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CLinux
import Dispatch
import Glibc
import HostFiles
import HostQueues
import NIOCore
import NIOPosix
import SystemdActivation
import TimerControl
import TimerTools
import TimerWeb

/// `timerd web`: the web server of the status page, a separate process without any rights.
struct WebCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web", abstract: "Serve the status page for browsers.",
        discussion: """
            It asks a running daemon for everything that it shows, in the name of the user who is logged in; \
            `timerctl web` prints a link to log in with. Under systemd, timerd-web.socket starts it.
            """)

    /// The port of the status page if none is named.
    static let standardPort = 8321

    @Option(
        help: ArgumentHelp(
            """
            The daemon's socket for the web server (default: \(ControlPath.webName) in the runtime directory).
            """, valueName: "path"), completion: .file())
    var socket: String?

    @Option(
        help: ArgumentHelp(
            "The runtime directory of the daemon (default: \(WebCommand.standardRuntime)).",
            valueName: "directory"), completion: .directory)
    var runtime: String?

    @Option(
        help: ArgumentHelp(
            "The address and port to serve at: one of this machine, such as 127.0.0.1:8321 or [::1]:8321.",
            valueName: "address"))
    var listen: String = "127.0.0.1:\(WebCommand.standardPort)"

    @Flag(
        help:
            "Print a link to log in with as soon as the daemon answers, and end with the process that started this one."
    )
    var withParent = false

    private static var standardRuntime: String {
        geteuid() == 0 ? "/run/timerd/daemon" : Standard.runtime
    }

    private var runtimePath: String { runtime ?? Self.standardRuntime }

    func validate() throws { _ = try Self.address(listen) }

    func run() throws {
        umask(0o077)
        signal(SIGPIPE, SIG_IGN)
        let environment = SupervisorEnvironment.take()
        if withParent { clinux_end_with_parent(SIGTERM) }
        let connector = DaemonConnector(path: socket ?? "\(runtimePath)/\(ControlPath.webName)")
        let place: WebServer.Place
        if let passed = environment.sockets.first {
            place = .socket(passed.descriptor)
            connector.learnHosts()
        } else {
            place = .address(try Self.address(listen))
        }
        let stop = DispatchSemaphore(value: 0)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let hub = EventHub(source: connector, loop: group.next())
        let channel: any Channel
        do {
            channel = try WebServer.listen(on: place, group: group) { port in
                WebResponder(
                    rules: WebRules(port: port), page: WebPage(), hosts: { connector.hosts() },
                    ask: { connector.ask($0, $1, $2) }, follow: { hub.follow($0, $1) })
            } whenIdle: {
                if !environment.sockets.isEmpty { stop.signal() }
            }
        } catch {
            // Its description also names a function of the network library.
            let reason = (error as? IOError).map { systemError($0.errnoCode) } ?? "\(error)"
            Output.complain(
                "cannot serve the status page at \(listen): \(reason); choose another address with --listen"
            )
            throw ExitCode(1)
        }
        if environment.sockets.isEmpty { announce(channel) }
        stop.wait()
    }

    private func announce(_ channel: any Channel) {
        // For port 0, the port that the kernel chose.
        let port = channel.localAddress?.port ?? Self.standardPort
        let url = "http://\(listen[..<(listen.lastIndex(of: ":") ?? listen.endIndex)]):\(port)"
        let command = Self.linkCommand(url, program: CommandLine.arguments[0], runtime: runtime)
        guard withParent else {
            return Output.complain(
                "the status page is at \(url)/; "
                    + "`\(command)` prints a link to it")
        }
        // The daemon is being started at the same time.
        let client = ControlClient(path: "\(runtimePath)/\(ControlPath.fileName)")
        for _ in 0..<600 {
            if let reply = try? client.sendOnce(.loginLink), reply.status == 200,
                let link = try? ControlJSON.decode(LoginLinkReply.self, from: reply.body)
            {
                return Output.complain(
                    "the status page is at \(url)\(link.path) (once, within 60 s; "
                        + "`\(command)` makes another link)")
            }
            usleep(100_000)
        }
        Output.complain("no daemon answers at \(client.path)")
    }

    /// The command that makes a link to log in with, as it can be typed where this process was started: a program that
    /// is not installed needs its path, and a daemon in a directory of its own needs the socket.
    ///
    /// - Parameters:
    ///   - program: the path by which this process was started.
    ///   - runtime: the runtime directory; nil if it is the standard one.
    static func linkCommand(_ url: String, program: String, runtime: String?) -> String {
        let directory = program.lastIndex(of: "/").map { program[...$0] } ?? ""
        let socket = runtime.map { " --socket \($0)/\(ControlPath.fileName)" } ?? ""
        return "\(directory)timerctl web --url \(url)\(socket)"
    }

    /// An address of this machine: an address that other machines can reach needs TLS, and therefore a reverse proxy.
    static func address(_ text: String) throws -> SocketAddress {
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...]),
            ["127.0.0.1", "[::1]"].contains(text[..<colon])
        else {
            throw ValidationError(
                "--listen: \"\(text)\" must be 127.0.0.1 or [::1] with a port, such as 127.0.0.1:8321; "
                    + "for other machines, put a reverse proxy with TLS in front of it")
        }
        let host = text[..<colon].filter { $0 != "[" && $0 != "]" }
        return try SocketAddress(ipAddress: String(host), port: Int(port))
    }
}
