// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Logging
import Synchronization
import Testing
import TimerCore

@testable import TimerStore
@testable import TimerRecording

/// Readings of the history, which delay no write.
extension RecorderTests {
    /// A long reading delays neither writes nor questions about their progress.
    @Test func aReaderDelaysNoWrite() throws {
        let fixture = try RecorderFixture()
        let (began, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let found = Mutex<[Int64?]>([])
        let ended = DispatchSemaphore(value: 0)
        for isFirst in [true, false] {
            fixture.recorder.read { (store) throws(StoreError) in
                if isFirst {
                    // The reader sees the present state of the database.
                    let count = try store.connection.integer("SELECT count(*) FROM job", doing: "")
                    began.signal()
                    mayEnd.wait()
                    return count
                }
                return try store.connection.integer("SELECT count(*) FROM job", doing: "")
            } _: { result in
                found.withLock { $0.append((try? result.get()) ?? nil) }
                ended.signal()
            }
            if isFirst { began.wait() }
            let kept = DispatchSemaphore(value: 0)
            for number in 0..<200 {
                fixture.recorder.write([.save(RecorderFixture.record("j\(number)"))], durable: true)
                {
                    _ in
                    kept.signal()
                }
            }
            for _ in 0..<200 { #expect(kept.wait(timeout: .now() + 20) == .success) }
        }
        mayEnd.signal()
        for _ in 0..<2 { #expect(ended.wait(timeout: .now() + 20) == .success) }
        #expect(found.withLock { $0 } == [0, 200])
    }

    @Test func readingsHaveALimit() throws {
        let fixture = try RecorderFixture()
        let (began, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let path = "\(fixture.folder)/\(Store.fileName)"
        let reader = StoreReader()
        let refused = Mutex(0)
        let ended = DispatchSemaphore(value: 0)
        for number in 0..<StoreReader.waitingMax + 10 {
            reader.read(path) { (_) throws(StoreError) in
                guard number == 0 else { return }
                began.signal()
                mayEnd.wait()
            } _: { result in
                if case .failure(let error) = result, error.code == .busy {
                    refused.withLock { $0 += 1 }
                }
                ended.signal()
            }
            if number == 0 { began.wait() }
        }
        #expect(refused.withLock { $0 } == 10)
        mayEnd.signal()
        for _ in 0..<StoreReader.waitingMax + 10 { ended.wait() }
        #expect(refused.withLock { $0 } == 10)
    }

    @Test func aReaderWritesNothing_andEndsInTime() throws {
        let fixture = try RecorderFixture()
        let store = try Store(readingBeside: "\(fixture.folder)/\(Store.fileName)")
        #expect(throws: StoreError.self) {
            try store.connection.execute("DELETE FROM job", doing: "write to it")
        }
        store.limit(to: .milliseconds(50))
        let endless =
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
        do throws(StoreError) {
            _ = try store.connection.integer(endless, doing: "count")
            Issue.record("it was not ended")
        } catch {
            #expect(error.code == .busy)
        }
        store.limit(to: .seconds(20))
        #expect(try store.connection.integer("SELECT count(*) FROM job", doing: "count") == 0)
    }
}
