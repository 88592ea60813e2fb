// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing

/// Another package that uses only the library. It needs an environment variable, because it builds
/// a package.
@Suite struct ClientPackageTests {
    @Test(.enabled(if: ProcessInfo.processInfo.environment["TIMERD_TEST_CLIENT"] != nil))
    func aNewPackageFetchesThisOneAlone_andIsSmall() throws {
        let script = Process()
        script.executableURL = Project.url(of: "Tests/System/Library/run")
        script.arguments = ["client"]
        try script.run()
        script.waitUntilExit()
        #expect(script.terminationStatus == 0)
    }
}
