// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import Synchronization
import Testing
import TimerControl
import TimerCore

@testable import timerd
@testable import TimerWeb

/// What is served of the files of the page.
@Suite struct WebPageTests {
    @Test(arguments: [
        (
            "/* License\n   of it */\n\ncode; // why\n  // a line\n/** a\n * block\n */\nmore;\n",
            "/* License\n   of it */\n\ncode; // why\n\n\n\n\nmore;\n"
        ),
        (
            "// License\n\ncode;\n/* short */ more;\n/* short */\nlast;",
            "// License\n\ncode;\n/* short */ more;\n\nlast;"
        ),
        ("a {\n  color: red; /* why */\n}\n", "a {\n  color: red; /* why */\n}\n"), ("", ""),
    ])
    func commentsAreNotServed_andLinesKeepTheirNumbers(source: String, served: String) {
        #expect(String(decoding: WebPage.withoutComments(source.utf8), as: UTF8.self) == served)
    }

    @Test(arguments: ["/app.js", "/app.css", "/icon.svg", "/"])
    func theFilesSayUnderWhichLicenseTheyAre(
        path: Substring
    ) throws {
        let file = try #require(WebPage().file(at: path))
        #expect(
            String(buffer: file.bytes).prefix(200).contains("SPDX-License-Identifier: Apache-2.0"))
    }

    @Test(arguments: [
        ("timerd", nil, "timerctl web --url http://127.0.0.1:1"),
        ("/usr/local/bin/timerd", nil, "/usr/local/bin/timerctl web --url http://127.0.0.1:1"),
        (
            ".build/release/timerd", ".timerd/run",
            ".build/release/timerctl web --url http://127.0.0.1:1 --socket .timerd/run/control.sock"
        ),
    ])
    func theCommandForAnotherLinkCanBeTypedAsItIsPrinted(
        program: String, runtime: String?, command: String
    ) {
        #expect(
            WebCommand.linkCommand("http://127.0.0.1:1", program: program, runtime: runtime)
                == command)
    }
}
