// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
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
        (
            "/* SPDX-License-Identifier: X\n\n   about */\na {}\n",
            "/* SPDX-License-Identifier: X */\n\n\na {}\n"
        ),
        (
            "// SPDX-License-Identifier: X\n//\n// about\n\ncode;",
            "// SPDX-License-Identifier: X\n\n\n\ncode;"
        ),
        ("<p>\n  <!-- why -->\n<!-- a\nb -->", "<p>\n\n<!-- a\nb -->"),
        ("a {\n  color: red; /* why */\n}\n", "a {\ncolor: red; /* why */\n}\n"), ("", ""),
    ])
    func commentsAndIndentationAreNotServed_andLinesKeepTheirNumbers(source: String, served: String)
    {
        #expect(String(decoding: WebPage.condensed(source.utf8), as: UTF8.self) == served)
    }

    @Test(arguments: WebPage().paths)
    func theFilesSayUnderWhichLicenseTheyAre(path: String) throws {
        let file = try #require(WebPage().file(at: path[...]))
        #expect(
            String(buffer: file.bytes).prefix(200).contains("SPDX-License-Identifier: Apache-2.0"))
    }

    /// Each file of the sources is a part of the program, and each module is fetched at once, not when another one
    /// names it.
    @Test func theProgramHasEachFileOfThePage_andTheFrameNamesEachModule() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/Control/CWebPage").standardized
        let modules = try FileManager.default.contentsOfDirectory(
            atPath: folder.appending(path: "script").path
        ).sorted()
        #expect(
            WebPage().paths
                == (["/", "/app.css", "/icon.svg"] + modules.map { "/script/\($0)" }).sorted())
        let frame = try String(
            contentsOf: folder.appending(path: "index.html"), encoding: .utf8)
        for module in modules {
            let named = frame.ranges(of: "\"script/\(module)\"").count
            #expect(named == 1, "\(module)")
            let lines = try String(
                contentsOf: folder.appending(path: "script/\(module)"), encoding: .utf8
            ).split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count <= 301, "\(module) has more than 300 lines")
            // A text that went on in the next line would lose its indentation. Regular expressions are left out.
            let isOpen = lines.contains { line in
                let isOther = line.drop { $0 == " " }.hasPrefix("*") || line.contains("//")
                let isExpression = ["/(", "/^", "'`'"].contains { line.contains($0) }
                return !isOther && !isExpression && line.count { $0 == "`" } % 2 == 1
            }
            #expect(!isOpen, "\(module) has a template literal of several lines")
        }
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
