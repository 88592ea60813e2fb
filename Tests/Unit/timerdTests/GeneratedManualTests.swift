// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import ManualPages
import ProjectFiles
import Testing

@testable import timerd
@testable import timerd_runner

/// The parts of the pages that come from the command lines of the programs.
@Suite struct GeneratedManualTests {
    @Test(arguments: [
        ("man/timerd.8", Timerd._dumpHelp()), ("man/timerd-runner.8", TimerdRunner._dumpHelp()),
    ])
    func thePageSaysWhatTheProgramSays(file: String, help: String) throws {
        let text = try GeneratedPage(try Tool(help)).applied(to: try Project.text(of: file))
        let difference = try Project.difference(of: file, from: text)
        #expect(difference == nil)
    }
}
