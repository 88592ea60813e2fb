// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import HostFiles
import Synchronization
import Testing

@testable import TimerDaemon

/// The kernel's notifications, in real directories.
@Suite struct InotifyTests {
    private let queue = DispatchQueue(label: "inotify-tests")

    private final class Counter: Sendable {
        let calls = Mutex(0)
        let names = Mutex<Set<String>>([])
    }

    private func folder() throws -> String {
        var template = Array("\(NSTemporaryDirectory())/inotify.XXXXXX".utf8CString)
        return String(cString: try #require(mkdtemp(&template)))
    }

    @Test func aDirectoryThatIsWrittenToAllTheTimeCausesFewWakeUps() async throws {
        let path = try folder()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let counter = Counter()
        let inotify = try Inotify()
        _ = try inotify.add(path, UInt32(IN_CREATE))
        inotify.begin(on: queue) {
            let events = inotify.read()
            counter.calls.withLock { $0 += 1 }
            counter.names.withLock { $0.formUnion(events.map(\.name)) }
        }
        let began = ContinuousClock.now
        for number in 0..<2000 {
            try #require(FileManager.default.createFile(atPath: "\(path)/\(number)", contents: nil))
            // Lets the queue run as often as it would.
            if number % 10 == 0 { usleep(100) }
        }
        for _ in 0..<6000 where counter.names.withLock(\.count) < 2000 {
            try await Task.sleep(for: .milliseconds(10))
        }
        let took = ContinuousClock.now - began
        inotify.end()
        // Each event was reported, and at most once in 100 ms something was read.
        #expect(counter.names.withLock(\.count) == 2000)
        #expect(counter.calls.withLock(\.self) <= Int(took / .milliseconds(100)) + 2)
    }

    @Test func theWatchesCanEndWhileEventsAreCollected() async throws {
        for _ in 0..<20 {
            let path = try folder()
            defer { try? FileManager.default.removeItem(atPath: path) }
            var inotify: Inotify? = try Inotify()
            _ = try inotify?.add(path, UInt32(IN_CREATE))
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                let counter = Counter()
                inotify?.begin(on: queue) {
                    let calls = counter.calls.withLock { calls in
                        calls += 1
                        return calls
                    }
                    if calls == 1 { done.resume() }
                }
                _ = FileManager.default.createFile(atPath: "\(path)/file", contents: nil)
            }
            inotify = nil
        }
        queue.sync {}
    }
}
