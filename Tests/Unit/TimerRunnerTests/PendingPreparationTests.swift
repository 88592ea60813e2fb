// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// Runs whose users are looked up and whose files are read.
@Suite struct PendingPreparationTests {
    private static let second: Int64 = 1_000_000_000
    private let run = ScriptedRuns.run(1)
    private let files = Preparation.Files.success(RunFiles.Contents(variables: ["A": "1"]))

    private func withFile() -> RunRequest {
        ScriptedRuns.request(run) { $0.environmentFile = "/etc/file" }
    }

    private func variable(_ preparation: Preparation?) -> String? {
        (try? preparation?.result.get())?.variables["A"]
    }

    private func reason(_ preparation: Preparation) -> String {
        do throws(Spawner.Failure) {
            _ = try preparation.result.get()
            return ""
        } catch {
            return error.outcome.description
        }
    }

    @Test func aRunWithoutFilesCanStartOnceItsUserIsKnown() {
        var pending = PendingPreparations()
        pending.add(ScriptedRuns.request(run), 1, at: 0)
        #expect(pending.contains(run) && !pending.isEmpty)
        let found = pending.didLookUp(run, 1, .success(ScriptedRuns.account), at: 1)
        #expect(found?.request.id == run && pending.isEmpty && !pending.contains(run))
        #expect((try? found?.result.get())?.account == ScriptedRuns.account)
    }

    @Test func aRunWithFilesWaitsForBoth() {
        var pending = PendingPreparations()
        pending.add(withFile(), 1, at: 0)
        // Files that nothing waits for yet.
        #expect(pending.didReadFiles(of: run, 1, files) == nil)
        #expect(pending.didLookUp(run, 1, .success(ScriptedRuns.account), at: 1) == nil)
        #expect(pending.didLookUp(run, 1, .success(ScriptedRuns.account), at: 1) == nil)
        #expect(variable(pending.didReadFiles(of: run, 1, files)) == "1")
        #expect(pending.isEmpty)
    }

    @Test func aRunWhoseUserIsKnownWaitsForItsFiles() {
        var pending = PendingPreparations()
        pending.add(withFile(), 1, ScriptedRuns.account, at: 0)
        #expect(variable(pending.didReadFiles(of: run, 1, files)) == "1")
    }

    @Test func aRunWhoseUserIsUnknownFailsAtOnce() throws {
        var pending = PendingPreparations()
        pending.add(withFile(), 1, at: 0)
        let failed = pending.didLookUp(run, 1, .failure(ScriptedRuns.failure), at: 1)
        #expect(reason(try #require(failed)) == ScriptedRuns.failure.outcome.description)
        #expect(pending.isEmpty)
    }

    @Test func anAnswerToAnEarlierRequestDoesNotCount() {
        var pending = PendingPreparations()
        pending.add(withFile(), 1, at: 0)
        #expect(pending.remove(run)?.id == run && pending.remove(run) == nil)
        pending.add(withFile(), 2, at: 0)
        #expect(pending.didLookUp(run, 1, .failure(ScriptedRuns.failure), at: 1) == nil)
        #expect(pending.didLookUp(run, 2, .success(ScriptedRuns.account), at: 1) == nil)
        #expect(pending.didReadFiles(of: run, 1, .failure(ScriptedRuns.failure)) == nil)
        #expect(variable(pending.didReadFiles(of: run, 2, files)) == "1")
    }

    @Test func theLookUpAndTheFilesHaveATimeLimitEach() {
        var pending = PendingPreparations()
        pending.add(withFile(), 1, at: 0)
        let found = pending.didLookUp(
            run, 1, .success(ScriptedRuns.account), at: 9 * Self.second)
        #expect(found == nil)
        #expect(pending.expire(at: 19 * Self.second - 1).isEmpty)
        let late = pending.expire(at: 19 * Self.second)
        #expect(late.map(\.request.id) == [run] && pending.isEmpty)
        let what = "read the environment file /etc/file within 10 seconds"
        #expect(reason(late[0]) == "spawn-failed(ETIMEDOUT, \(what))")

        pending.add(withFile(), 2, at: 0)
        let unknown = pending.expire(at: 10 * Self.second)
        #expect(unknown.count == 1 && pending.isEmpty)
        #expect(reason(unknown[0]).hasPrefix("spawn-failed(ETIMEDOUT, look up "))
        #expect(pending.expire(at: 20 * Self.second).isEmpty)
    }

    /// The same for runs that are tried again: they keep the time of their first failure.
    @Test func aRunIsTriedAgainAfterMoreAndMoreTime() {
        let request = ScriptedRuns.request(run)
        var retries = Retries()
        var now: Int64 = 1000
        var waits: [Int64] = []
        while retries.add(request, isEndless: false, at: now) {
            #expect(retries.contains(run) && retries.takeDue(at: now).isEmpty)
            waits.append((retries.next ?? 0) - now)
            now = retries.next ?? 0
            #expect(retries.takeDue(at: now) == [request] && retries.next == nil)
            // It is being tried, which cannot be cancelled here.
            #expect(retries.cancel(run) == nil && retries.contains(run))
        }
        #expect(waits.map { $0 / 1_000_000 } == [50, 100, 200, 400, 800, 1000, 1000, 1000, 1000])
        let isEndless = retries.add(request, isEndless: true, at: now)
        #expect(isEndless)
        #expect(retries.cancel(run) == request && !retries.contains(run))
    }

    @Test func runsAreTriedAgainInTheOrderOfTheirFirstFailure() {
        var retries = Retries()
        let requests = (1...20).map { ScriptedRuns.request(ScriptedRuns.run($0)) }
        for (index, request) in requests.enumerated() {
            _ = retries.add(request, isEndless: false, at: Int64(index))
        }
        #expect(retries.takeDue(at: 50_000_009) == Array(requests[...9]))
        #expect(retries.next == 50_000_010)
        retries.remove(requests[10].id)
        #expect(retries.takeDue(at: .max) == Array(requests[11...]))
        // A run that may not start yet is not tried before.
        var later = requests[0]
        later.notBefore = AwakeInstant(nanoseconds: 900_000_000)
        retries.removeAll()
        #expect(retries.add(later, isEndless: false, at: 0) && retries.next == 950_000_000)
    }

    @Test func commandsAreKeptInTheirOrder() {
        var commands = PendingCommands()
        #expect(commands.take(for: run).isEmpty)
        commands.add(.signal(run, 1), for: run)
        commands.add(.suspend(run), for: run)
        commands.add(.suspend(ScriptedRuns.run(2)), for: ScriptedRuns.run(2))
        let taken = commands.take(for: run)
        #expect(taken.count == 2)
        guard case .signal(_, 1)? = taken.first, case .suspend(run)? = taken.last else {
            Issue.record("\(taken)")
            return
        }
        #expect(commands.take(for: run).isEmpty)
        commands.removeAll()
        #expect(commands.take(for: ScriptedRuns.run(2)).isEmpty)
    }
}
