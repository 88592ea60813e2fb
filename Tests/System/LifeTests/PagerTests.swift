// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// What is longer than the screen is shown by a pager, as git does it.
@Suite(.ownThreads) struct PagerTests {
    @Test(.enabled(if: Tmux.isInstalled)) func longTextsGoToThePager() throws {
        let daemon = try LiveDaemon(
            (10..<40).map { "[job.job-\($0)]\non-demand = true\ncommand = [\"true\"]\n" }.joined())
        try daemon.start()
        let paged = "\(daemon.folder)/paged"
        let tmux = try Tmux(
            in: daemon.folder,
            ["TIMERD_SOCKET": daemon.socket, "PAGER": "tee -a \(paged) | tail -n 3"])
        func type(_ line: String, _ mark: String) throws {
            try tmux.enterOnEmptyScreen("\(line); echo \(mark)-$?")
            _ = tmux.waitFor("the end of \(line)") { $0.contains("\(mark)-0") }
        }
        // What fits, what goes elsewhere, and what may not be paged.
        try type("timerctl list job-10", "short")
        try type("timerctl list | cat", "pipe")
        try type("timerctl list --no-pager", "option")
        try type("PAGER=cat timerctl list", "cat")
        try type("TERM=dumb timerctl list", "dumb")
        try type("timerctl list --json", "json")
        #expect(access(paged, F_OK) != 0)
        // A pager that is not there is none.
        try type("PAGER=/nonexistent/pager timerctl list", "missing")
        #expect(tmux.waitFor("the list") { $0.contains { $0.hasPrefix("job-39 ") } }.count > 0)
        try type("timerctl list --color never", "paged")
        let text = try String(contentsOfFile: paged, encoding: .utf8)
        #expect(text.hasPrefix("JOB ") && text.contains("\njob-39 "))
        #expect(daemon.stop() == 0)
    }
}
