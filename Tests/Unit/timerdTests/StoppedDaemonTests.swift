// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import timerctl

/// Output of `systemctl show`, and its meaning.
@Suite struct StoppedDaemonTests {
    @Test(
        arguments: [
            ("active", "", "active", nil), ("activating", "", "active", nil),
            ("deactivating", "", "active", nil), ("reloading", "", "active", nil),
            // Between the two halves of a restart.
            ("inactive", "4711", "active", nil), ("failed", "4711", "active", nil),
            ("inactive", "", "active", "timerd is stopped; start it with `systemctl start timerd`"),
            (
                "failed", "", "active",
                "timerd has failed and is stopped; `systemctl status timerd` says why"
            ),
            // No unit would start it: the socket itself reports that no daemon listens.
            ("inactive", "", "inactive", nil), ("inactive", "", "failed", nil),
        ] as [(String, String, String, String?)])
    func aUnitIsStoppedIfItIsInactiveAndWillNotStart(
        service: String, job: String, socket: String, fault: String?
    ) {
        // As systemd 252 prints it: some versions print no line for an empty property.
        for jobLine in job.isEmpty ? ["", "Job=\n"] : ["Job=\(job)\n"] {
            let answer =
                "Id=timerd.service\nActiveState=\(service)\n\(jobLine)\nId=timerd.socket\n"
                + "ActiveState=\(socket)\n"
            #expect(StoppedDaemon.fault(answer, "systemctl") == fault)
        }
    }

    @Test(arguments: ["", "\n\n", "Id", "Id=timerd.service\nActiveState=inactive\n", "=\n\n=="])
    func fromAnythingElseNothingIsConcluded(answer: String) {
        #expect(StoppedDaemon.fault(answer, "systemctl") == nil)
    }
}
