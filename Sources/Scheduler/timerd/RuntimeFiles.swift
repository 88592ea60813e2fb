// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HostFiles
import HostQueues
import Logging
import SystemdActivation
import TimerAPI
import TimerControl
import TimerCore
import TimerDaemon
import TimerRecording
import TimerRunnerProtocol

/// Makes the files of the daemon in its runtime directory again if someone deletes them while it runs, on a queue of
/// its own, because a lock may be waited for.
actor RuntimeFiles: QueueActor {
    nonisolated let executor = QueueExecutor(label: "timerd.runtime", qos: .utility)
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    private let files: KeptFiles
    private let log: Logger
    private var source: (any DispatchSourceRead)?
    private var isEnded = false

    /// - Parameter parts: the files, which are there now.
    init(_ parts: [KeptFiles.Part], log: Logger) {
        files = KeptFiles(parts, at: RunnerClock.awake())
        self.log = log
    }

    /// Starts to check the files regularly and after each change in their directory.
    func begin() {
        if files.descriptor >= 0 {
            let source = DispatchSource.makeReadSource(
                fileDescriptor: files.descriptor, queue: executor.queue)
            source.setEventHandler { @Sendable [weak self] in
                self?.assumeIsolated { $0.noteChange() }
            }
            // The descriptor is open for as long as the source has a handler.
            source.setCancelHandler { @Sendable [self] in withExtendedLifetime(self) {} }
            source.activate()
            self.source = source
        }
        look()
    }

    /// Stops checking them. Files that are deleted later stay so.
    func end() {
        isEnded = true
        source?.cancel()
        source = nil
    }

    private func noteChange() {
        let wasPlanned = files.lookAt != nil
        files.noteChange(at: RunnerClock.awake())
        if !wasPlanned { plan() }
    }

    private func plan() {
        guard let at = files.lookAt else { return }
        let delay = max(0, at - RunnerClock.awake()) + 1_000_000
        later(after: .nanoseconds(delay)) { $0.look() }
    }

    private func look() {
        guard !isEnded else { return }
        guard let finding = files.look(at: RunnerClock.awake()) else { return plan() }
        if !finding.made.isEmpty {
            log.warning(
                """
                Deleted while timerd uses it, and made again: \(finding.made.joined(separator: ", ")); \
                \(KeptFiles.hint)
                """)
        }
        if let failure = finding.failure {
            log.error(
                """
                A file of timerd was deleted and cannot be made again: \(failure). It is tried again every 10 s; \
                until then commands may not reach timerd, and a kill may cost up to \
                \(TimeSpan.text(RecoveredState.lossAtPowerCut)) of each job's time
                """)
        }
        plan()
    }
}

extension DaemonStart {
    /// The files in the runtime directory, and the control socket.
    func keptParts(
        _ heartbeat: HeartbeatWriter, _ server: ControlServer, web: ControlServer?,
        at controlPath: String
    ) -> [KeptFiles.Part] {
        let folder = options.runtime
        var parts = [
            KeptFiles.Part(path: "\(folder)/\(Self.lockName)") { () throws(Directory.Failure) in
                try Directory.remake(folder).lock(Self.lockName, option: "--runtime")
            },
            KeptFiles.Part(path: "\(folder)/\(ControlPath.aliveName)") {
                () throws(Directory.Failure) in
                // It stays open until the process ends, as the first one.
                _ = try UnixSocket.bindMark(ControlPath.aliveName, in: try Directory.remake(folder))
            },
            KeptFiles.Part(path: "\(folder)/\(HeartbeatFile.name)") {
                () throws(Directory.Failure) in
                heartbeat.replace(try HeartbeatFile(in: try Directory.remake(folder)))
            },
        ]
        if let web {
            let path = "\(folder)/\(ControlPath.webName)"
            parts.append(
                KeptFiles.Part(path: path) { () throws(Directory.Failure) in
                    web.move(
                        to: try UnixSocket.bind(at: path, allowing: .groupOfOurs(Daemon.webGroup)))
                })
        }
        let isActivated = !environment.sockets.isEmpty
        parts.append(
            KeptFiles.Part(path: controlPath) { () throws(Directory.Failure) in
                guard !isActivated else {
                    throw Directory.Failure(
                        description: "\(controlPath): systemd listens there; make it again with "
                            + "`systemctl stop timerd.socket timerd && systemctl start timerd.socket timerd`"
                    )
                }
                server.move(
                    to: try UnixSocket.bind(at: controlPath, allowing: .group(Daemon.group)))
            })
        return parts
    }
}
