// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import HostFiles
import Synchronization
import Testing

@testable import TimerDaemon

/// What the tests of the watch run in: notices, time and files.
extension ConfigWatchTests {
    /// Records the watches, and reports the events of the test.
    final class Notices: DirectoryNotices {
        private struct State {
            var paths: [String] = []
            var masks: [Int32: UInt32] = [:]
            var events: [InotifyEvent] = []
            var failure: Int32?
            var changed: (@Sendable () -> Void)?
        }

        private let state = Mutex(State())

        var watched: Set<String> {
            state.withLock { state in
                Set(state.masks.keys.map { state.paths[Int($0)] })
            }
        }

        func fail(_ code: Int32?) { state.withLock { $0.failure = code } }

        func add(_ folder: String, _ mask: UInt32) throws(Inotify.Failure) -> Int32 {
            let result: Result<Int32, Inotify.Failure> = state.withLock { state in
                if let code = state.failure { return .failure(Inotify.Failure(code: code)) }
                let watch = state.paths.firstIndex(of: folder) ?? state.paths.count
                if watch == state.paths.count { state.paths.append(folder) }
                state.masks[Int32(watch)] = mask
                return .success(Int32(watch))
            }
            return try result.get()
        }

        func remove(_ watch: Int32) {
            _ = state.withLock { $0.masks.removeValue(forKey: watch) }
        }

        func read() -> [InotifyEvent] {
            state.withLock { state in
                defer { state.events = [] }
                return state.events
            }
        }

        func begin(on queue: DispatchQueue, changed: @escaping @Sendable () -> Void) {
            state.withLock { $0.changed = changed }
        }

        func end() {}

        /// Like the kernel, reports only events of watched directories that are in the mask.
        func report(_ folder: String, _ name: String, _ flags: Int32...) {
            let changed: (@Sendable () -> Void)? = state.withLock { state in
                guard let watch = state.paths.firstIndex(of: folder),
                    let mask = state.masks[Int32(watch)]
                else { return nil }
                let flags = flags.reduce(0) { $0 | UInt32(bitPattern: $1) }
                let isOwn = flags & UInt32(bitPattern: IN_IGNORED | IN_UNMOUNT | IN_Q_OVERFLOW) != 0
                guard isOwn || mask & flags != 0 else { return nil }
                state.events.append(
                    InotifyEvent(watch: Int32(watch), mask: flags, name: name))
                return state.changed
            }
            changed?()
        }
    }

    /// A simulated clock, with the calls that are planned.
    final class Time: Sendable {
        private struct State {
            var now: Duration = .zero
            var calls: [(at: Duration, body: @Sendable () -> Void)] = []
        }

        private let state = Mutex(State())

        var alarm: ConfigWatch.Alarm {
            ConfigWatch.Alarm(
                now: { self.state.withLock(\.now) },
                after: { span, body in
                    self.state.withLock { $0.calls.append(($0.now + span, body)) }
                })
        }

        var planned: Int { state.withLock(\.calls.count) }

        func pass(_ span: Duration) {
            let end = state.withLock { $0.now + span }
            while true {
                let body: (@Sendable () -> Void)? = state.withLock { state in
                    let next = state.calls.indices.min { state.calls[$0].at < state.calls[$1].at }
                    guard let next, state.calls[next].at <= end else {
                        state.now = end
                        return nil
                    }
                    let call = state.calls.remove(at: next)
                    state.now = max(state.now, call.at)
                    return call.body
                }
                guard let body else { return }
                body()
            }
        }
    }

    /// A watch on files in a directory of its own.
    final class Scene {
        let folder: String
        let notices = Notices()
        let time = Time()
        let changes = Counter()
        let complaints = Complaints()
        private(set) var watch: ConfigWatch?

        final class Counter: Sendable {
            private let count = Mutex(0)
            func add() { count.withLock { $0 += 1 } }
            /// The number of changes since the last call.
            func take() -> Int {
                count.withLock { count in
                    defer { count = 0 }
                    return count
                }
            }
        }

        final class Complaints: Sendable {
            private let all = Mutex<[String]>([])
            func add(_ text: String) { all.withLock { $0.append(text) } }
            var texts: [String] { all.withLock { $0 } }
        }

        init(_ main: String = "timerd/timerd.toml", make: (String) throws -> Void) throws {
            // Its real path, which inotify uses.
            let made = "/tmp/timerd-watch-\(UUID().uuidString)"
            mkdir(made, 0o755)
            folder = try #require(realpath(made, nil).map { String(cString: $0) })
            mkdir("\(folder)/timerd", 0o755)
            try make(folder)
            begin(main)
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        private func begin(_ main: String) {
            let watch = ConfigWatch(
                "\(folder)/\(main)", notices: notices, alarm: time.alarm,
                changed: { [changes] in changes.add() },
                complain: { [complaints] in complaints.add($0) })
            watch.begin(on: .main)
            self.watch = watch
        }

        /// Reports an event, waits until the series is over, and returns how many changes were
        /// noticed.
        func count(_ folder: String, _ name: String, _ flags: Int32) -> Int {
            notices.report(self.folder + folder, name, flags)
            time.pass(.seconds(1))
            return changes.take()
        }
    }
}
