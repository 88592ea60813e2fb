// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// Which versions of a job's definition the runner uses when the files change.
@Suite struct DefinitionTests {
    private func name(_ text: String) -> Job.Name { Job.Name(text)! }

    private func definition(_ line: String) -> Definition { Definition(.shell(line)) }

    /// Jobs by their names, each with its command line.
    private func definitionsOf(_ jobs: [String: String]) -> RunnerServer.Definitions {
        Dictionary(uniqueKeysWithValues: jobs.map { (name($0), definition($1)) })
    }

    private func read(
        _ jobs: [String: String], keeping kept: [String] = [], isCheck: Bool = false,
        into definitions: inout JobDefinitions
    ) {
        let reading = definitions.reading(
            definitionsOf(jobs), keeping: Set(kept.map(name)), isCheck: isCheck)
        let isUsed = definitions.apply(reading)
        #expect(isUsed)
    }

    /// Whether a run would start that fired with this version of the job.
    private func knows(
        _ job: String, _ line: String, _ definitions: JobDefinitions
    ) -> Bool {
        var definitions = definitions
        let run = Run.ID("\(job):20261122T064315.266963Z:1")!
        let request = StartRequest(
            run: run, fingerprint: definition(line).fingerprint, missed: 0, active: .zero)
        return definitions.definition(for: request) == definition(line)
    }

    /// The jobs of a file that is being edited continue.
    @Test func aJobOfAFileWithAnErrorIsUnchanged_whateverTheFileContains() {
        for isCheck in [false, true] {
            var definitions = JobDefinitions()
            read(["a": "1", "b": "1", "c": "1"], into: &definitions)
            if !isCheck { definitions.keepFormer() }
            read(
                ["b": "2", "c": "2"], keeping: ["a", "b"], isCheck: isCheck, into: &definitions)
            _ = definitions.forgetFormer()
            #expect(knows("a", "1", definitions) && knows("b", "1", definitions))
            // A scheduler that starts now loads it.
            #expect(knows("b", "2", definitions) && knows("c", "2", definitions))
            #expect(knows("c", "1", definitions) == isCheck)
            // When the error is corrected, the file is used, and deleted jobs are removed.
            read(["b": "3"], into: &definitions)
            #expect(knows("b", "3", definitions))
            #expect(!knows("a", "1", definitions) && !knows("b", "1", definitions))
        }
    }

    /// An editor empties a file before it writes it: for a moment the job was missing.
    @Test func aJobThatWasMissingOnceIsKeptAsAnyOther() {
        var definitions = JobDefinitions()
        read(["a": "1"], into: &definitions)
        read([:], isCheck: true, into: &definitions)
        #expect(!knows("a", "1", definitions))
        read(["a": "1"], isCheck: true, into: &definitions)
        #expect(knows("a", "1", definitions))
        for isCheck in [true, true, false] {
            read([:], keeping: ["a"], isCheck: isCheck, into: &definitions)
            #expect(knows("a", "1", definitions))
        }
        read([:], isCheck: true, into: &definitions)
        #expect(!knows("a", "1", definitions))
    }

    @Test func aKeptJobThatWasUnknownIsReadAsUsual() {
        var definitions = JobDefinitions()
        read(["a": "1"], keeping: ["a", "b"], into: &definitions)
        #expect(knows("a", "1", definitions) && !definitions.contains(name("b")))
    }
}
