// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension UnitKey {
    /// The keys of `[Service]`: systemd.service(5), systemd.exec(5), systemd.kill(5) and
    /// systemd.resource-control(5).
    static let service = merged(translatedKeys, processKeys, sandboxKeys, resourceKeys, outputKeys)

    private static let translatedKeys = all(
        .translated,
        """
        Type ExecStart ExecStartPre ExecStartPost ExecCondition ExecStop ExecStopPost
        Restart RestartSec StartLimitInterval StartLimitBurst SuccessExitStatus
        TimeoutSec TimeoutStartSec TimeoutStopSec RuntimeMaxSec
        User Group DynamicUser PAMName WorkingDirectory RootDirectory RootImage
        Environment EnvironmentFile PassEnvironment UnsetEnvironment
        UMask Nice OOMScoreAdjust IOSchedulingClass IOSchedulingPriority
        CPUSchedulingPolicy CPUSchedulingPriority
        LimitCPU LimitFSIZE LimitDATA LimitSTACK LimitCORE LimitRSS LimitNOFILE LimitAS
        LimitNPROC LimitMEMLOCK LimitLOCKS LimitSIGPENDING LimitMSGQUEUE LimitNICE
        LimitRTPRIO LimitRTTIME
        NoNewPrivileges CapabilityBoundingSet AmbientCapabilities AppArmorProfile SELinuxContext
        LoadCredential KillMode RemainAfterExit
        StandardInput StandardInputText StandardInputData StandardOutput StandardError
        LogRateLimitIntervalSec LogRateLimitBurst
        """)

    private static let processKeys = merged(
        all(
            .unneeded("a run is never reloaded or stopped by a command"),
            "ExecReload ExecReloadPost ReloadSignal"),
        all(
            .unneeded("timerd waits for the process that it starts"),
            "PIDFile GuessMainPID ExitType"),
        all(
            .lost("a run has no D-Bus name, notification socket or passed descriptors"),
            """
            BusName BusPolicy NotifyAccess Sockets FileDescriptorStoreMax
            FileDescriptorStorePreserve USBFunctionDescriptors USBFunctionStrings OpenFile
            WatchdogSec WatchdogSignal NonBlocking
            """),
        all(
            .lost("retries wait for retry-delay, which grows by retry-backoff"),
            "RestartSteps RestartMaxDelaySec RestartRandomizedDelaySec"),
        all(
            .lost("each failed run is retried alike"),
            "RestartPreventExitStatus RestartForceExitStatus RestartMode"),
        all(
            .lost("a run that is stopped gets SIGTERM, and SIGKILL after kill-timeout"),
            """
            KillSignal RestartKillSignal FinalKillSignal SendSIGHUP SendSIGKILL TimeoutAbortSec
            TimeoutStartFailureMode TimeoutStopFailureMode RuntimeRandomizedExtraSec
            """),
        all(
            .lost("timerd never restarts or stops the machine because of a job"),
            "StartLimitAction FailureAction RebootArgument"),
        all(.lost("timerd does not watch the other processes of a run for this"), "OOMPolicy"),
        all(
            .unneeded("it is for old units, in which it changes nothing any more"),
            "PermissionsStartOnly RootDirectoryStartOnly"),
        all(.lost("the job has only the groups of its user"), "SupplementaryGroups"),
        all(
            .lost("timerd creates and removes no directories for the job"),
            """
            RuntimeDirectory RuntimeDirectoryMode RuntimeDirectoryPreserve StateDirectory
            StateDirectoryMode StateDirectoryAccounting StateDirectoryQuota CacheDirectory
            CacheDirectoryMode CacheDirectoryAccounting CacheDirectoryQuota LogsDirectory
            LogsDirectoryMode LogsDirectoryAccounting LogsDirectoryQuota ConfigurationDirectory
            ConfigurationDirectoryMode TimeoutCleanSec
            """),
        all(
            .lost("credentials of timerd are files; see credentials in timerd.toml(5)"),
            """
            LoadCredentialEncrypted SetCredential SetCredentialEncrypted ImportCredential
            """),
        all(
            .lost("runs have what the runner of timerd has"),
            """
            CPUSchedulingResetOnFork CPUAffinity NUMAPolicy NUMAMask TimerSlackNSec Personality
            IgnoreSIGPIPE CoredumpFilter SecureBits SetLoginEnvironment KeyringMode
            MemoryKSM MemoryTHP
            """),
        all(.lost("a run makes no record in utmp"), "UtmpIdentifier UtmpMode"))

    private static let sandboxKeys = all(
        .lost("timerd does not have this restriction, so the job may do more than the service"),
        """
        RootImageOptions RootImagePolicy RootHash RootHashSignature RootVerity RootEphemeral
        RootMStack
        ExtensionDirectories ExtensionImages ExtensionImagePolicy MountImages MountImagePolicy
        ReadWriteDirectories ReadOnlyDirectories InaccessibleDirectories ReadWritePaths
        ReadOnlyPaths InaccessiblePaths ExecPaths NoExecPaths ExecSearchPath BindPaths
        BindReadOnlyPaths BindLogSockets TemporaryFileSystem MountFlags MountAPIVFS RemoveIPC
        PrivateTmp PrivateDevices PrivateNetwork PrivateUsers PrivateMounts PrivateIPC PrivatePIDs
        PrivateBPF ProtectSystem ProtectHome ProtectKernelTunables ProtectKernelModules
        ProtectKernelLogs ProtectClock ProtectControlGroups ProtectHostname ProtectProc ProcSubset
        NetworkNamespacePath IPCNamespacePath UserNamespacePath LogNamespace SystemCallFilter
        SystemCallArchitectures SystemCallErrorNumber SystemCallLog MemoryDenyWriteExecute
        RestrictNamespaces DelegateNamespaces RestrictRealtime RestrictSUIDSGID
        RestrictAddressFamilies RestrictFileSystems LockPersonality SmackProcessLabel
        BPFDelegateCommands BPFDelegateMaps BPFDelegatePrograms BPFDelegateAttachments
        """)

    private static let resourceKeys = merged(
        all(
            .unneeded("it only counts what is used"),
            """
            CPUAccounting MemoryAccounting IOAccounting BlockIOAccounting TasksAccounting
            IPAccounting
            """),
        all(
            .lost("timerd sets no limits and weights of a control group for the job"),
            """
            AllowedCPUs StartupAllowedCPUs AllowedMemoryNodes StartupAllowedMemoryNodes
            CPUWeight StartupCPUWeight CPUShares StartupCPUShares CPUQuota CPUQuotaPeriodSec
            CPUSetPartition CPUPressureWatch CPUPressureThresholdSec IOPressureWatch
            IOPressureThresholdSec
            MemoryMin DefaultMemoryMin DefaultMemoryLow DefaultStartupMemoryLow StartupMemoryLow
            MemoryLow MemoryHigh StartupMemoryHigh MemoryMax StartupMemoryMax MemorySwapMax
            StartupMemorySwapMax MemoryZSwapMax StartupMemoryZSwapMax MemoryZSwapWriteback
            MemoryLimit MemoryPressureWatch MemoryPressureThresholdSec
            DeviceAllow DevicePolicy IOWeight StartupIOWeight IODeviceWeight
            IOReadBandwidthMax IOWriteBandwidthMax IOReadIOPSMax IOWriteIOPSMax
            IODeviceLatencyTargetSec BlockIOWeight StartupBlockIOWeight BlockIODeviceWeight
            BlockIOReadBandwidth BlockIOWriteBandwidth TasksMax Delegate DelegateSubgroup
            DisableControllers IPAddressAllow IPAddressDeny IPIngressFilterPath
            IPEgressFilterPath ManagedOOMSwap ManagedOOMMemoryPressure
            ManagedOOMMemoryPressureLimit ManagedOOMMemoryPressureDurationSec ManagedOOMPreference
            ManagedOOMRules BPFProgram SocketBindAllow SocketBindDeny RestrictNetworkInterfaces
            NFTSet
            """),
        all(.lost("runs of timerd are in timerd.slice"), "Slice"))

    private static let outputKeys = merged(
        all(
            .lost("the log of timerd has the name of the job, the run and the output"),
            """
            SyslogIdentifier SyslogFacility SyslogLevel SyslogLevelPrefix LogLevelMax
            LogExtraFields LogFilterPatterns
            """),
        all(
            .lost("a run has no terminal"),
            "TTYPath TTYReset TTYVHangup TTYVTDisallocate TTYRows TTYColumns"))

    /// Keys of which `yes` is the default value.
    static let trueByDefault: Set<String> = [
        "SendSIGKILL", "IgnoreSIGPIPE", "DefaultDependencies", "TTYReset", "SyslogLevelPrefix",
        "GuessMainPID", "MemoryZSwapWriteback", "SetLoginEnvironment",
    ]

    /// The default values of other keys; a line with one of them loses nothing.
    static let defaultValues: [String: Set<String>] = [
        "KillSignal": ["SIGTERM", "TERM", "15"], "FinalKillSignal": ["SIGKILL", "KILL", "9"],
        "NotifyAccess": ["none"], "OOMPolicy": ["stop"], "ProtectProc": ["default"],
        "ProcSubset": ["all"], "Slice": ["system.slice"], "KeyringMode": ["private"],
        "TimeoutStartFailureMode": ["terminate"], "TimeoutStopFailureMode": ["terminate"],
        "RestartMode": ["normal"], "SyslogFacility": ["daemon"], "SyslogLevel": ["info"],
        "DevicePolicy": ["auto"], "CPUSchedulingResetOnFork": ["no"], "WatchdogSec": ["0"],
        "JobTimeoutSec": ["infinity"], "JobRunningTimeoutSec": ["infinity"],
        "MemoryMax": ["infinity"], "MemoryHigh": ["infinity"], "MemorySwapMax": ["infinity"],
        "TasksMax": ["infinity"], "StartLimitAction": ["none"], "FailureAction": ["none"],
        "SuccessAction": ["none"],
    ]

    /// Whether the value of a key that timerd does not have is its default, so that nothing is lost.
    static func isDefault(_ key: String, _ value: String) -> Bool {
        if defaultValues[key]?.contains(value) == true { return true }
        // Every service has these, and runs of timerd end before the machine goes down as well.
        if key == "Conflicts" || key == "Before" {
            return value.split(whereSeparator: \.isWhitespace).allSatisfy {
                $0 == "shutdown.target" || $0 == "initrd-switch-root.target"
            }
        }
        guard let flag = UnitValue.boolean(value) else { return false }
        return flag == trueByDefault.contains(key)
    }
}
