// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What the importer does with a key of a unit file.
enum UnitKey: Hashable, Sendable {
    /// The importer has code of its own for it.
    case translated
    /// It changes nothing about the runs of the job, because of this.
    case unneeded(String)
    /// timerd has no equivalent: what is lost.
    case lost(String)

    /// The keys of a section of a timer or a service; nil if systemd knows no such section there.
    ///
    /// - Parameter type: of the unit.
    static func keys(of section: String, in type: String) -> [String: UnitKey]? {
        switch (section, type) {
        case ("Unit", "timer"): unitOfTimer
        case ("Unit", _): unitOfService
        case ("Install", _): install
        case ("Timer", "timer"): timer
        case ("Service", "service"): service
        default: nil
        }
    }

    /// The section to which a key belongs that is written in another one.
    static func home(of key: String, in type: String) -> String? {
        (type == "timer" ? ["Timer", "Unit", "Install"] : ["Service", "Unit", "Install"])
            .first { keys(of: $0, in: type)?[key] != nil }
    }

    /// Why systemd ignores a key that it does not know, and what may have been meant.
    static func unknown(
        _ key: String, in section: String, of type: String, hasHint: Bool = true
    ) -> String {
        let start = "systemd does not know this key and ignores it"
        guard hasHint else { return start }
        if let home = home(of: key, in: type) { return "\(start); it belongs into [\(home)]" }
        if let hint = hints[key.lowercased()] { return "\(start); \(hint)" }
        let known = (keys(of: section, in: type) ?? [:]).keys.sorted()
        guard let near = nearestName(key, among: known) else { return start }
        return "\(start) (did you mean \"\(near)\"?)"
    }

    /// Keys that people write and that do not exist.
    private static let hints = [
        "timezone": "a time zone is the last word of OnCalendar=",
        "oncalender": "did you mean \"OnCalendar\"?",
        "cron": "did you mean \"OnCalendar\"?",
        "script": "did you mean \"ExecStart\"?",
        "exec": "did you mean \"ExecStart\"?",
        "workdir": "did you mean \"WorkingDirectory\"?",
    ]

    /// Gives each of the words, which are keys, the same treatment.
    static func all(_ treatment: UnitKey, _ words: String) -> [String: UnitKey] {
        Dictionary(
            words.split(whereSeparator: \.isWhitespace).map { (String($0), treatment) },
            uniquingKeysWith: { first, _ in first })
    }

    static func merged(_ parts: [String: UnitKey]...) -> [String: UnitKey] {
        parts.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
    }

    // MARK: - [Timer]

    private static let timer = merged(
        all(
            .translated,
            """
            OnCalendar OnActiveSec OnBootSec OnStartupSec OnUnitActiveSec OnUnitInactiveSec
            OnClockChange OnTimezoneChange Persistent WakeSystem FixedRandomDelay AccuracySec
            RandomizedDelaySec RandomizedOffsetSec Unit
            """),
        all(
            .unneeded("timerd keeps every job and shows when it last ran"), "RemainAfterElapse"),
        all(
            .unneeded(
                "timerd computes the next run from the schedule, not from the end of the last run"),
            "DeferReactivation"))

    // MARK: - [Unit]

    private static let dependencies = """
        Requires Requisite Wants BindsTo BindTo Upholds Before After PartOf
        PropagatesReloadTo PropagateReloadTo ReloadPropagatedFrom PropagateReloadFrom
        PropagatesStopTo StopPropagatedFrom RequiresMountsFor WantsMountsFor
        RequiresOverridable RequisiteOverridable
        """

    static let conditions = """
        PathExists PathExistsGlob PathIsDirectory PathIsSymbolicLink PathIsMountPoint
        PathIsReadWrite PathIsEncrypted PathIsSocket DirectoryNotEmpty FileNotEmpty
        FileIsExecutable NeedsUpdate FirstBoot Architecture Firmware Virtualization Host
        KernelCommandLine KernelVersion Version Credential Security Capability ACPower Memory
        CPUFeature CPUs Environment User Group ControlGroupController OSRelease MemoryPressure
        CPUPressure IOPressure KernelModuleLoaded
        """

    private static func conditionKeys(_ why: String) -> [String: UnitKey] {
        let words = conditions.split(whereSeparator: \.isWhitespace)
        return Dictionary(
            uniqueKeysWithValues: ["Condition", "Assert"].flatMap { kind in
                words.map { ("\(kind)\($0)", UnitKey.lost(why)) }
            })
    }

    private static let unit = merged(
        all(
            .unneeded("it is a text for people"), "Documentation SourcePath"),
        all(
            .unneeded("it is about starting and stopping the unit by hand or with other units"),
            """
            StopWhenUnneeded RefuseManualStart RefuseManualStop AllowIsolate IgnoreOnIsolate
            OnSuccessJobMode OnFailureJobMode OnFailureIsolate CollectMode SurviveFinalKillSignal
            """),
        all(
            .lost("timerd has no limit for the time a run waits to be started"),
            "JobTimeoutSec JobRunningTimeoutSec JobTimeoutAction JobTimeoutRebootArgument"),
        all(
            .lost("timerd never restarts or stops the machine because of a job"),
            """
            StartLimitAction FailureAction SuccessAction FailureActionExitStatus
            SuccessActionExitStatus RebootArgument
            """),
        all(
            .unneeded("it is about the timer itself, and not about its service"),
            "OnFailure OnSuccess"),
        all(.lost("the job shares no namespaces with other units"), "JoinsNamespaceOf"))

    private static let unitOfTimer = merged(
        all(.translated, "Description"), unit,
        all(
            .unneeded(
                "it only orders when systemd starts the timer; the job is active when timerd is"),
            "Before After DefaultDependencies"),
        all(
            .lost(
                "the job is active whether or not the other unit is: dependencies of a timer count when systemd starts it"
            ),
            dependencies + " Conflicts"),
        all(
            .unneeded("it limits how often the timer is started, not the service"),
            "StartLimitIntervalSec StartLimitInterval StartLimitBurst"),
        conditionKeys(
            "systemd checks it when it starts the timer, and the job is active nevertheless; condition in timerd.toml(5) is "
                + "checked before each run"))

    private static let unitOfService = merged(
        all(
            .translated,
            """
            Description StartLimitIntervalSec StartLimitInterval StartLimitBurst OnFailure OnSuccess
            Requires Requisite BindsTo BindTo Wants After RequiresMountsFor
            """),
        unit,
        all(
            .lost("the run does not need its mounts; see mounted in condition of timerd.toml(5)"),
            "WantsMountsFor"),
        all(
            .lost("timerd starts no units before or after others; see follows in timerd.toml(5)"),
            "Before"),
        all(
            .unneeded("runs of timerd start when the system is up, and end before it goes down"),
            "DefaultDependencies"),
        all(
            .lost("starting and stopping a run does nothing to other units, nor they to it"),
            dependencies),
        all(
            .lost(
                "the run does not stop the other unit; slots in timerd.toml(5) keep jobs from running at the same time"
            ),
            "Conflicts"),
        conditionKeys(
            "timerd has no condition like this one, and the run starts nevertheless; command in condition of "
                + "timerd.toml(5) can check it"))

    // MARK: - [Install]

    private static let install = all(
        .unneeded("it only says how systemctl enables the unit"),
        "Alias WantedBy RequiredBy UpheldBy Also DefaultInstance")
}
