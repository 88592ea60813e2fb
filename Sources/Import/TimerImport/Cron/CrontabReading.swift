// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What the lines of a crontab so far mean for the jobs after them.
struct CrontabReading {
    /// The PATH of cron's jobs if the crontab sets none.
    static let cronPath = "/usr/bin:/bin"

    /// About the size of the smallest job in the output, in bytes.
    private static let jobBytes = 190

    let source: CrontabSource
    /// Whether each line names a user before the command.
    let hasUser: Bool
    /// The comments directly above the line that is read.
    var comments: [String] = []
    /// How many lines make Debian's cron refuse the file, and how many jobs there are.
    var (broken, jobs) = (0, 0)
    /// Whether a job does not get the PATH that it has under cron.
    private(set) var lacksPath = false

    /// The variables, in the order of their first settings.
    private var variables: [TomlEntry] = []
    private var places: [String: Int] = [:]
    /// About the size of the variables, and what the jobs leave of the largest configuration, in bytes.
    private var (variableBytes, bytesLeft) = (0, Toml.bytesMax)
    /// The settings that have a meaning for cron itself.
    private(set) var special: [String: String] = [:]
    /// The slot of the jobs after it, which wait for each other; nil: they have none.
    private(set) var slot: String?

    init(source: CrontabSource, hasUser: Bool) {
        (self.source, self.hasUser) = (source, hasUser)
    }

    // MARK: - Settings

    /// Names that only systemd-cron takes for itself.
    private static let systemdNames: Set = [
        "RANDOM_DELAY", "START_HOURS_RANGE", "DELAY", "PERSISTENT", "BATCH", "RUN_PARTS",
        "CRON_BATCH_THROTTLE_GROUP",
    ]

    /// Takes a setting.
    /// - Returns: what becomes of its line.
    mutating func apply(_ setting: CrontabSetting, _ options: CrontabOptions)
        -> ImportReport.Outcome
    {
        let (name, value) = (setting.name, setting.value)
        if name == "LOGNAME" || name == "USER" {
            return .noted("\(name) is left out; timerd always sets it to the user of the job")
        }
        if options.flavour == .systemdCron, Self.systemdNames.contains(name) {
            return applySystemd(name, value)
        }
        if let fault = CrontabSetting.fault(inName: name) {
            return .noted("the variable is left out: \(fault)")
        }
        variableBytes +=
            value.utf8.count - (special[name].map { $0.utf8.count } ?? -name.utf8.count)
        special[name] = value
        if let index = places[name] {
            variables[index].value = .string(value)
        } else {
            places[name] = variables.count
            variables.append(TomlEntry(name, .string(value)))
        }
        return note(name, value, options).map(ImportReport.Outcome.noted) ?? .setting
    }

    /// What a setting means to cron that timerd does in another way.
    private func note(_ name: String, _ value: String, _ options: CrontabOptions) -> String? {
        let flavour = options.flavour
        switch name {
        case "CRON_TZ" where flavour == .debian:
            return
                "Debian's cron does not use CRON_TZ, and only gives it to the jobs; if another cron uses it, import "
                + "with --flavour cronie"
        case "CRON_TZ", "TZ":
            guard name == "CRON_TZ" || flavour == .systemdCron else { return nil }
            return options.isZone(value) || value.isEmpty
                ? nil : "\"\(value)\" is not a time zone of this machine; the machine's own is used"
        case "RANDOM_DELAY" where flavour == .cronie:
            guard let minutes = Int(value), (0...1440).contains(minutes) else {
                return "\"\(value)\" is not a number of minutes; it is only a variable of the jobs"
            }
            return minutes == 0
                ? nil
                : "cronie draws the delay once, when it starts; timerd draws one for each run"
        case "MAILTO":
            let bad = Self.addresses(value).filter { !Self.isAddress($0) }
            if Self.addresses(value).count > Self.addressesMax {
                return "only the first \(Self.addressesMax) addresses get mails"
            }
            return bad.isEmpty ? nil : "\"\(bad[0])\" is not a mail address; it is left out"
        case "MAILFROM":
            return value.isEmpty || Self.isAddress(value)
                ? nil : "\"\(value)\" is not a mail address; the sender is timerd's own"
        case "HOME":
            return value.hasPrefix("/")
                ? nil
                : "\"\(value)\" is not an absolute path; the jobs start in the home directory of their user"
        case "SHELL":
            return value.hasPrefix("/")
                ? nil
                : "\"\(value)\" is not an absolute path, as cron expects; timerd searches it in PATH"
        case "CONTENT_TRANSFER_ENCODING":
            return "the encoding of mails cannot be set; it is only a variable of the jobs"
        case "MLS_LEVEL":
            return "the SELinux level is not used; see selinux-context in timerd.toml(5)"
        default: return nil
        }
    }

    private mutating func applySystemd(_ name: String, _ value: String) -> ImportReport.Outcome {
        switch name {
        case "RUN_PARTS": return .unneeded("only the generator of systemd-cron uses it")
        case "CRON_BATCH_THROTTLE_GROUP":
            slot = JobNamer.clean(value).map { String($0.prefix(Job.Name.lengthMax)) }
            return slot != nil || value.isEmpty
                ? .setting
                : .noted(
                    "\"\(value)\" cannot be the name of a slot; give the jobs of the group one")
        case "PERSISTENT", "BATCH":
            special[name] = value.lowercased()
            return .setting
        default:
            let number = value.split(separator: "-").first.flatMap { Int($0) }
            let most = name == "START_HOURS_RANGE" ? 23 : name == "DELAY" ? 59 : 1440
            guard let number, (0...most).contains(number) else {
                return .noted("\"\(value)\" is not a number from 0 to \(most); it is left out")
            }
            special[name] = "\(number)"
            return name == "START_HOURS_RANGE" && value.contains("-")
                ? .noted("systemd-cron uses the first hour only, and so do the jobs") : .setting
        }
    }

    private func number(_ name: String) -> Int { special[name].flatMap { Int($0) } ?? 0 }

    // MARK: - Keys of a job

    /// Counts the size of jobs. Many variables in many jobs would fill the memory.
    ///
    /// - Throws: `CronFault` if there is no room for them.
    mutating func spend(_ line: String, jobs: Int = 1) throws(CronFault) {
        for _ in 0..<jobs where bytesLeft >= 0 {
            bytesLeft -= line.utf8.count + variableBytes + Self.jobBytes
        }
        guard bytesLeft < 0 else { return }
        throw CronFault(
            message:
                "the jobs and variables before it fill a configuration of \(Toml.bytesMax >> 20) MiB, the largest "
                + "one; import the file in parts",
            breaksFile: false)
    }

    func setCommand(_ command: CronCommand, of job: inout ImportedJob) {
        let shell = special["SHELL"].flatMap { $0.isEmpty ? nil : $0 } ?? "/bin/sh"
        if shell == "/bin/sh" {
            job.set("shell", .string(command.line))
        } else {
            job.set("command", .strings([shell, "-c", command.line]))
        }
        if let input = command.input { job.set("stdin", .string(input)) }
        if command.isCutInside {
            job.note(
                "cron ends the command at the first % without a backslash, here within quotes or $(…), so that it never "
                    + "worked; join shell and stdin with a % if that is not what you want")
        }
    }

    /// Sets the schedule.
    /// - Returns: the entry with the times that the settings of systemd-cron give it.
    mutating func setSchedule(
        _ entry: CrontabEntry, of job: inout ImportedJob, _ options: CrontabOptions
    ) -> CrontabEntry {
        var entry = entry
        let delay = number("DELAY")
        guard var cron = entry.cron else {
            job.set("on-boot", .string(delay > 0 ? "\(delay)min" : "0s"))
            return entry
        }
        if options.flavour == .systemdCron {
            if entry.schedule.hasPrefix("@"), entry.schedule.lowercased() != "@minutely" {
                cron = Self.shifted(entry, cron, delay: delay, hour: number("START_HOURS_RANGE"))
                if let times = try? CronTimes(fields: cron) { entry.times = times }
            } else if delay > 0 {
                entry.notes.append(
                    "systemd-cron also waits until \(delay) min after the boot (DELAY); this job does not"
                )
            }
            if !entry.times.needsBothDays {
                entry.notes.append(
                    "a day must match one of both day fields, as crontab(5) says; some versions of systemd-cron "
                        + "want both")
            }
        }
        job.set("cron", .string(cron))
        if let zone = zone(options) { job.set("timezone", .string(zone)) }
        let random = options.flavour == .debian ? 0 : number("RANDOM_DELAY")
        if (1...1440).contains(random) { job.set("random-delay", .string("\(random)min")) }
        return entry
    }

    /// A word of systemd-cron with its minute and hour.
    private static func shifted(
        _ entry: CrontabEntry, _ cron: String, delay: Int, hour: Int
    ) -> String {
        guard delay > 0 || hour > 0 else { return cron }
        let fields = entry.times.text.split(separator: " ")
        let name = entry.schedule.lowercased()
        let first = name == "@hourly" ? "*" : name == "@midnight" ? "0" : "\(hour)"
        return (["\(delay)", first] + fields.dropFirst(2).map(String.init)).joined(separator: " ")
    }

    /// The time zone that the schedule has under cron; nil: the machine's.
    func zone(_ options: CrontabOptions) -> String? {
        let name =
            switch options.flavour {
            case .debian: String?.none
            case .cronie: special["CRON_TZ"]
            case .systemdCron: special["CRON_TZ"] ?? special["TZ"]
            }
        guard let name, !name.isEmpty, options.isZone(name) else { return nil }
        return name
    }

    mutating func setUserAndEnvironment(
        _ entry: CrontabEntry, of job: inout ImportedJob, _ options: CrontabOptions
    ) {
        if hasUser, let user = entry.user {
            job.set("user", .string(user))
            if !options.isAccount(user) { job.note("there is no user \(user) on this machine") }
        } else if source.namesOwner {
            job.set("user", .string(source.owner))
        }
        setEnvironment(of: &job, options)
        if options.flavour == .systemdCron, ["yes", "true", "1"].contains(special["BATCH"] ?? "") {
            job.set("nice", .integer(19))
            job.set("io-class", .string("idle"))
            job.set("cpu-policy", .string("idle"))
        }
        setPolicies(entry, of: &job, options)
        if entry.isSilent { job.set("log", .string("failures")) }
    }

    /// The user and the variables of a job of another table than a crontab.
    mutating func setUserAndEnvironment(
        owner: String, of job: inout ImportedJob, _ options: CrontabOptions
    ) {
        if source.namesOwner, job.value(of: "user") == nil { job.set("user", .string(owner)) }
        setEnvironment(of: &job, options)
    }

    private mutating func setEnvironment(of job: inout ImportedJob, _ options: CrontabOptions) {
        if let home = special["HOME"], home.hasPrefix("/") {
            job.set("working-directory", .string(home))
        }
        var variables = variables
        // As cron does. The login shell of the user, which timerd would set, may be another one.
        if special["SHELL"] == nil {
            variables.insert(TomlEntry("SHELL", .string("/bin/sh")), at: 0)
        }
        if special["PATH"] == nil {
            if options.isStrictPath {
                variables.append(TomlEntry("PATH", .string(Self.cronPath)))
            } else {
                lacksPath = true
            }
        }
        job.set("environment", .table(variables))
    }

    /// What cron does with runs that it missed, or that are not over yet.
    private func setPolicies(
        _ entry: CrontabEntry, of job: inout ImportedJob, _ options: CrontabOptions
    ) {
        let isWord = entry.schedule.hasPrefix("@") && entry.schedule.lowercased() != "@minutely"
        let persistent = special["PERSISTENT"]
        let isPersistent =
            options.flavour == .systemdCron && entry.cron != nil
            && (persistent == "yes" || isWord && persistent != "no")
        if options.isModern, !isPersistent { return }
        if entry.cron != nil {
            job.set("on-missed", .string(isPersistent ? "run-once" : "skip"))
        }
        guard !options.isModern else { return }
        // A systemd service runs once at a time, and its processes end with it.
        guard options.flavour != .systemdCron else { return }
        job.set("concurrency", .string("allow"))
        job.set("kill-leftovers", .boolean(false))
    }
}
