// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerImport

/// What must be true before a service starts becomes `condition`, or a note.
@Suite struct ConditionTests {
    private static let mounts = [
        ImportedMount("/srv", isAutomatic: true), ImportedMount("/srv/data", isAutomatic: true),
        ImportedMount("/mnt/backup", isAutomatic: false),
    ]

    private func imported(_ unit: String, _ service: String = "") throws -> ImportResult {
        let result = try Units(files: [
            "a.timer": "[Timer]\nOnCalendar=daily\nPersistent=true\n",
            "a.service":
                "[Unit]\n\(unit)\n[Service]\nType=oneshot\nExecStart=/bin/a\n\(service)\n",
        ]).imported("a.timer") { $0.mounts = Self.mounts }
        #expect(try result.faults() == [])
        return result
    }

    private func condition(_ result: ImportResult) -> String? {
        result.jobs.first?.value(of: "condition").map { "\($0)" }
    }

    @Test(
        arguments: [
            ("ConditionPathExists=/srv/x", #"{ path-exists = ["/srv/x"] }"#),
            ("ConditionPathExists=! /etc/%p-off", #"{ path-exists = ["!/etc/a-off"] }"#),
            (
                "ConditionPathExists=/x\nConditionPathExists=!/y",
                #"{ path-exists = ["/x", "!/y"] }"#
            ),
            // One alone with | must be true.
            ("ConditionPathExists=|/x", #"{ path-exists = ["/x"] }"#),
            ("ConditionPathIsMountPoint=/srv", #"{ mounted = ["/srv"] }"#),
            ("ConditionPathIsMountPoint=!/srv", #"{ mounted = ["!/srv"] }"#),
            ("ConditionACPower=true", "{ ac-power = true }"),
            ("ConditionACPower=!yes", "{ ac-power = false }"),
            ("ConditionACPower=no", "{ ac-power = false }"),
            // An empty value resets all kinds.
            ("ConditionPathExists=/x\nConditionHost=\nConditionACPower=1", "{ ac-power = true }"),
            (
                "Wants=network-online.target\nAfter=network-online.target",
                #"{ network-online = true, otherwise = "wait" }"#
            ),
            ("After=network-online.target", #"{ network-online = true, otherwise = "wait" }"#),
            (
                "After=network.target NetworkManager.service network-online.target",
                #"{ network-online = true, otherwise = "wait" }"#
            ),
            ("Requires=srv-data.mount\nAfter=srv-data.mount", #"{ mounted = ["/srv/data"] }"#),
            ("BindsTo=srv.mount -.mount", #"{ mounted = ["/srv"] }"#),
            ("RequiresMountsFor=/srv/data/x", #"{ mounted = ["/srv", "/srv/data"] }"#),
            ("RequiresMountsFor=/srv /srvx", #"{ mounted = ["/srv"] }"#),
        ])
    func conditionsAreKeys(lines: String, value: String) throws {
        let result = try imported(lines)
        #expect(condition(result) == value)
        #expect(result.exactness == .exact, "\(result.jobs.flatMap(\.notes))")
    }

    /// What needs no condition, because it is true whenever timerd runs.
    @Test(arguments: [
        "After=local-fs.target sysinit.target", "Requires=basic.target", "RequiresMountsFor=/var/x",
        "Wants=time-set.target\nAfter=time-set.target", "RequiresMountsFor=/srvx",
        "After=-.mount", "ConditionPathExists=/x\nConditionPathExists=",
        "Conflicts=shutdown.target",
    ])
    func nothingIsNeeded(lines: String) throws {
        let result = try imported(lines)
        #expect(condition(result) == nil && result.exactness == .exact)
        for entry in result.report.entries
        where lines.split(separator: "\n").contains(where: { $0 == entry.text }) {
            guard case .unneeded = entry.outcome else {
                Issue.record("\(entry)")
                continue
            }
        }
    }

    @Test(
        arguments: [
            // (lines, the condition, a part of the note)
            ("AssertPathExists=/x", #"{ path-exists = ["/x"] }"#, "logs an error"),
            (
                "AssertPathIsMountPoint=/srv", #"{ mounted = ["/srv"] }"#,
                "and the run is skipped"
            ),
            (
                "ConditionPathExists=|/x\nConditionPathExists=|!/y", nil,
                "of the 2 conditions with | one is enough"
            ),
            ("ConditionPathExists=x", nil, "not an absolute path"),
            ("ConditionPathExists=/%Z", nil, "unknown specifier"),
            ("ConditionPathExists=/x\u{1}", nil, "no control characters"),
            ("ConditionACPower=maybe", nil, "not a boolean"),
            (
                "ConditionACPower=yes\nConditionACPower=no", "{ ac-power = true }",
                "contradicts another one"
            ),
            ("ConditionHost=web", nil, "no condition like this one"),
            ("ConditionVirtualization=!container", nil, "command in condition"),
            ("AssertUser=root", nil, "no condition like this one"),
            (
                "ConditionPathExists=/x\nAfter=network-online.target",
                #"{ path-exists = ["/x"], network-online = true, otherwise = "wait" }"#,
                "waits for both"
            ),
            ("After=network.target", nil, "does not wait until network.target"),
            (
                "After=a.service b.service a.service", nil,
                "does not wait until a.service or b.service has started"
            ),
            ("Requires=db.service", nil, "can ask whether a service is active"),
            ("Wants=x.socket\nAfter=local-fs.target", nil, "neither starts x.socket"),
            (
                "Requires=db.service mnt-backup.mount", #"{ mounted = ["/mnt/backup"] }"#,
                "systemd mounts /mnt/backup"
            ),
            ("Requires=other.mount", #"{ mounted = ["/other"] }"#, "systemd mounts /other"),
            (
                "RequiresMountsFor=/mnt/backup/x", #"{ mounted = ["/mnt/backup"] }"#,
                "the job is skipped then"
            ),
            ("RequiresMountsFor=srv", nil, "not an absolute path"),
            ("Wants=srv.mount", nil, "does not need srv.mount"),
            ("WantsMountsFor=/srv", nil, "does not need its mounts"),
            ("Conflicts=x.service", nil, "slots in timerd.toml(5)"),
            ("Before=x.service", nil, "starts no units before or after"),
            ("PartOf=x.service", nil, "nothing to other units"),
            ("After=a b", nil, "not the name of a unit"),
        ] as [(String, String?, String)])
    func deviationsAreNotes(lines: String, value: String?, note: String) throws {
        let result = try imported(lines)
        #expect(condition(result) == value)
        let notes = result.jobs.first?.notes ?? []
        #expect(notes.contains { $0.contains(note) }, "\(notes)")
    }

    /// A line with several units says what became of each.
    @Test func aNoteIsAboutTheUnitsThatAreLost() throws {
        let result = try imported("After=network-online.target local-fs.target db.service")
        #expect(condition(result) == #"{ network-online = true, otherwise = "wait" }"#)
        #expect(result.jobs[0].notes.count == 1)
        #expect(!result.jobs[0].notes[0].contains("until network-online.target"))
    }

    @Test func aConditionHasNoMorePathsThanItCan() throws {
        let lines = (0..<40).map { "ConditionPathExists=/\($0)" }.joined(separator: "\n")
        let result = try imported(lines)
        #expect(result.jobs[0].notes.count == 40 - ImportedCondition.pathsMax)
        #expect(result.jobs[0].notes[0].contains("at most 32 paths"))
    }

    // MARK: - ExecCondition=

    @Test(
        arguments: [
            ("ExecCondition=/bin/may run", #"["/bin/may", "run"]"#, true),
            (
                "ExecCondition=/bin/may ${X}",
                ##"["/bin/sh", "-c", 'exec /bin/may "${X}"']"##, true
            ),
            (
                "ExecCondition=/bin/a\nExecCondition=/bin/b",
                #"["/bin/sh", "-c", "/bin/a && /bin/b"]"#, false
            ),
            (
                "ExecCondition=-/bin/a", #"["/bin/sh", "-c", "{ /bin/a || :; }"]"#, true
            ),
        ])
    func aCommandIsAsked(line: String, command: String, isExact: Bool) throws {
        let result = try imported("", line)
        #expect(condition(result) == "{ command = \(command) }")
        #expect(result.keys().contains("command = [\"/bin/a\"]"))
        #expect(
            (result.exactness == .exact) == isExact, "\(result.jobs.flatMap(\.notes))")
    }

    // MARK: - fstab(5)

    @Test func theMountsOfFstabAreRead() {
        let text = """
            # a comment
            UUID=1 / ext4 errors=remount-ro 0 1
            UUID=2 none swap sw 0 0
            UUID=3 /srv/my\\040data/ ext4 defaults 0 2
            /dev/x /mnt/usb vfat noauto,user
            host:/x /net nfs noauto,x-systemd.automount 0 0
            tmpfs /tmp tmpfs
            broken line
            """
        #expect(
            ImportedMount.list(fstab: text) == [
                ImportedMount("/srv/my data", isAutomatic: true),
                ImportedMount("/mnt/usb", isAutomatic: false),
                ImportedMount("/net", isAutomatic: true), ImportedMount("/tmp", isAutomatic: true),
            ])
    }

    @Test(
        arguments: [
            ("mnt-backup.mount", "/mnt/backup"), (#"srv-my\x2ddata.mount"#, "/srv/my-data"),
            ("-.mount", nil), ("a.service", nil),
        ] as [(String, String?)])
    func aMountUnitIsNamedByItsPath(name: String, path: String?) throws {
        let unit = try #require(UnitName(name))
        #expect(ImportedMount(unit, isAutomatic: true)?.path == path)
    }
}
