// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import HostQueues
import Logging
import Systemd
import SystemdActivation
import TimerAPI
import TimerControl
import TimerDaemon

/// The sockets of the daemon, and the servers on them.
extension DaemonStart {
    /// Clients may connect from here on. They wait for their answers until the jobs are loaded.
    func bindSocket() throws -> Int32 {
        if let socket = try environment.controlSocket() { return socket }
        let socket = try UnixSocket.bind(at: options.socket, allowing: .group(Daemon.group))
        guard Glibc.listen(socket, ControlServer.backlog) == 0 else {
            throw Directory.Failure(
                description: "\(options.socket): cannot listen: \(systemError())")
        }
        return socket
    }

    /// The socket for the web server. Without it the daemon works as well, but for the status page.
    func bindWebSocket() -> Int32? {
        do throws(Directory.Failure) {
            return try UnixSocket.bind(
                at: "\(options.runtime)/\(ControlPath.webName)",
                allowing: .groupOfOurs(Daemon.webGroup))
        } catch {
            log.error("The status page cannot be served: \(error)")
            return nil
        }
    }

    /// The servers on the sockets, which answer requests from here on.
    func listen(
        on socket: Int32, web webSocket: Int32?, for daemon: Daemon, _ about: Control.About,
        _ inUse: Reloader.InUse, keeping heartbeat: HeartbeatWriter
    ) throws -> Listening {
        let path =
            environment.sockets.isEmpty
            ? options.socket : UnixSocket.path(of: socket) ?? options.socket
        let access = ControlAccess(
            socket: path,
            sessions: WebSessions(programs: programTokens()))
        let reloader = Reloader(
            path: options.config, user: geteuid(), inUse: inUse, loop: daemon.loop,
            apply: { access.use($0) }, supervision: daemon.supervision, clocks: clocks, log: log,
            runsJobs: options.runner == nil)
        let control = Control(
            loop: daemon.loop, reloader: reloader, recorder: daemon.recorder,
            recent: daemon.recent, events: daemon.events, meters: meters, about: about,
            access: access, sender: daemon.sender)
        let server = try ControlServer.listen(on: socket, for: control)
        let web = try webSocket.map {
            try ControlServer.listen(on: $0, for: control, isGateway: true)
        }
        server.begin()
        web?.begin()
        let files = RuntimeFiles(keptParts(heartbeat, server, web: web, at: path), log: log)
        files.later { $0.begin() }
        return Listening(
            server: server, web: web, reloader: reloader, files: files)
    }

    /// The tokens with which programs read the status page. A wrong file does not stop the scheduler.
    private func programTokens() -> ProgramTokens {
        do throws(ProgramTokens.Fault) {
            return try ProgramTokens.passed()
        } catch {
            log.error("No program can read with a token: \(error)")
            return ProgramTokens()
        }
    }
}

extension SupervisorEnvironment {
    /// The control socket that the service manager passed; nil if it passed none.
    fileprivate func controlSocket() throws(Directory.Failure) -> Int32? {
        guard !sockets.isEmpty else { return nil }
        guard let socket = sockets.first(where: \.isListeningUnixStream) else {
            throw Directory.Failure(
                description: "none of the sockets systemd passed is a unix stream socket; "
                    + "the socket unit needs ListenStream= with a path")
        }
        return socket.descriptor
    }
}
