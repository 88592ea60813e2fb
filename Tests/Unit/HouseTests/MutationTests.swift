// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing

/// Each mutation in Tests/Support/Mutations is described by the text that it changes. This test finds a
/// mutation whose text does not exist any more; otherwise only the run of all mutations would,
/// which takes minutes.
@Suite struct MutationTests {
    @Test(arguments: ["core", "shell", "fleet"]) func eachMistakeCanStillBeMade(part: String) throws
    {
        var count = 0
        for line in try Project.text(of: "Tests/Support/Mutations/\(part)").split(separator: "\n")
        where !line.hasPrefix("#") {
            let fields = line.split(separator: "\t").map(String.init)
            try #require(fields.count == 3, "\(line)")
            let source = Project.url(of: "Sources/\(fields[1])")
            let sed = Process()
            sed.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            sed.arguments = ["sed", "-E", fields[2], source.path]
            let output = Pipe()
            sed.standardOutput = output
            try sed.run()
            let changed = output.fileHandleForReading.readDataToEndOfFile()
            sed.waitUntilExit()
            #expect(sed.terminationStatus == 0, "\(fields[0])")
            #expect(try changed != Data(contentsOf: source), "\(fields[0]) changes nothing")
            count += 1
        }
        #expect(count > 0)
    }
}
