// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerCore
import TimerZones

@testable import TimerConfig

/// One error each, with its place and its words.
extension ConfigReaderTests {
    /// One error each: the text of the table, and the message up to the excerpt.
    @Test(arguments: [
        (
            #"every = "6h"\#nshell = "true"\#nintervall = 3"#,
            #"4:1: job "j": unknown key "intervall""#
        ),
        (
            #"evry = "6h"\#nshell = "true""#,
            #"2:1: job "j": unknown key "evry" (did you mean "every"?)"#
        ),
        (
            #"shell = "true""#,
            #"1:6: job "j": one of every, after, on-boot, calendar, cron, at or on-demand is missing"#
        ),
        (#"every = "1h""#, #"1:6: job "j": one of command or shell is missing"#),
        (
            #"every = "1h"\#nafter = "1h"\#nshell = "x""#,
            #"1:6: job "j": every and after exclude each other; keep one"#
        ),
        (
            #"every = "6 hoursx"\#nshell = "x""#,
            #"2:12: job "j": every: time span "6 hoursx": "hoursx" is not a unit (did you mean "hours"?); the units are us, ms, s, min, h, d, w, month and y"#
        ),
        (
            #"on-boot = "2weeks 3fortnights"\#nshell = "x""#,
            #"2:20: job "j": on-boot: time span "2weeks 3fortnights": "fortnights" is not a unit; the units are us, ms, s, min, h, d, w, month and y"#
        ),
        (
            #"on-boot = 90\#nshell = "x""#,
            #"2:11: job "j": on-boot: must be a time span in quotes, such as "90s""#
        ),
        (
            #"on-boot = "1h"\#ncron = "@reboot"\#nshell = "x""#,
            #"1:6: job "j": on-boot and cron exclude each other; keep one"#
        ),
        (
            #"every = 90\#nshell = "x""#,
            #"2:9: job "j": every: must be a time span in quotes, such as "90s""#
        ),
        (
            #"every = "0s"\#nshell = "x""#,
            #"2:9: job "j": every: an interval is at least 1 ms; for a first run at the start, use first = "0s""#
        ),
        (
            #"after = "0s"\#nshell = "x""#,
            #"2:9: job "j": after: an interval is at least 1 ms; for one run at the start, use after = "1ms""#
        ),
        (
            #"every = "infinity"\#nshell = "x""#,
            #"2:9: job "j": every: "infinity" never ends; leave the job out if it is never to run"#
        ),
        (
            #"every = "101y"\#nshell = "x""#,
            #"2:9: job "j": every: "101y" is too long; at most 100 years"#
        ),
        (
            #"every = "1h"\#ncommand = "ls -l""#,
            #"3:11: job "j": command: must be an array of strings such as ["ls", "-l"], not a string; "#
                + "for a line with blanks or pipes, use shell"
        ),
        (#"every = "1h"\#ncommand = []"#, #"3:11: job "j": command: the program is missing"#),
        (
            #"every = "1h"\#nshell = "x"\#ncount = "cpu""#,
            #"4:9: job "j": count: unknown value "cpu"; one of "active", "uptime", "boottime", "wall""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nuser = "1000""#,
            #"4:8: job "j": user: "1000" is not a valid name: a letter or '_', then letters, digits, '_' and '-', 31 "#
                + "at most; numbers are refused"
        ),
        (
            #"every = "1h"\#nshell = "x"\#numask = 22"#,
            #"4:9: job "j": umask: must be octal digits in quotes, such as "0022""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#numask = "0999""#,
            #"4:9: job "j": umask: "0999" must be octal digits up to "0777""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nnice = 20"#,
            #"4:8: job "j": nice: 20 is out of range; from -20 to 19"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nlimits = { nofiles = 3 }"#,
            #"4:12: job "j": limits: unknown limit "nofiles" (did you mean "nofile"?); one of as, core, "#
                + "cpu, data, fsize, memlock, nofile, nproc, rss, stack"
        ),
        (
            #"every = "1h"\#nshell = "x"\#noutput-tail = "2MiB""#,
            #"4:15: job "j": output-tail: is too large; at most 1048576 bytes"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nlog-rate-limit-burst = 0"#,
            #"4:24: job "j": log-rate-limit-burst: 0 is out of range; from 1 to 1000000000"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nlog-rate-limit-interval = "999ms""#,
            #"4:27: job "j": log-rate-limit-interval: is shorter than 1 s, so that the log might say more of what is dropped than it has of the rest; at least 1 s, or "none""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#noutput-tail = "8kb""#,
            #"4:15: job "j": output-tail: "8kb" is not a size such as "64KiB" or "1G""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nsuccess-exit-codes = [0, 256]"#,
            #"4:26: job "j": success-exit-codes: 256 is out of range; from 0 to 255"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nskip-exit-codes = [75, 256]"#,
            #"4:24: job "j": skip-exit-codes: 256 is out of range; from 0 to 255"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nskip-exit-codes = [75, 3]\#nsuccess-exit-codes = [0, 3]"#,
            #"4:19: job "j": skip-exit-codes: 3 is in success-exit-codes too; remove it from one of them"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nskip-exit-codes = 0"#,
            #"4:19: job "j": skip-exit-codes: 0 is in success-exit-codes too, which is [0] by default; remove it from one of them"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nsuccess-signals = ["SIGTERM", "sighup"]"#,
            #"4:31: job "j": success-signals: "sighup" is not a signal that ends a process (did you mean "SIGHUP"?); signal(7) lists them"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nsuccess-signals = "TRM""#,
            #"4:19: job "j": success-signals: "TRM" is not a signal that ends a process (did you mean "SIGTERM"?); signal(7) lists them"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nsuccess-signals = 15"#,
            #"4:19: job "j": success-signals: must be a string, not an integer"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nkill-leftovers = "no""#,
            #"4:18: job "j": kill-leftovers: must be true or false, not a string"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nretry-backoff = 0.5"#,
            #"4:17: job "j": retry-backoff: 0.5 is out of range; from 1.0 to 100.0"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nenvironment-file = "vars""#,
            #"4:20: job "j": environment-file: must be an absolute path, beginning with /, or with -/ "#
                + "if it need not be there"
        ),
        (
            #"every = "1h"\#nshell = "x"\#nrenamed-from = "j""#,
            #"4:16: job "j": renamed-from: names the job itself"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npaused = "yes""#,
            #"4:10: job "j": paused: must be true or false, not a string"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nworking-directory = "srv""#,
            #"4:21: job "j": working-directory: "srv" must be an absolute path, beginning with /"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nenvironment = { NOTIFY_SOCKET = "/x" }"#,
            #"4:17: job "j": environment: "NOTIFY_SOCKET" is reserved for timerd and systemd"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npam-service = "Cron""#,
            #"4:15: job "j": pam-service: "Cron" is not the name of a file in /etc/pam.d such as "cron": small "#
                + #"letters, digits, '_', '-' and '.', at most 64, the first not '.'; or "none""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npam-service = "../x""#,
            #"4:15: job "j": pam-service: "../x" is not the name of a file in /etc/pam.d such as "cron": small "#
                + #"letters, digits, '_', '-' and '.', at most 64, the first not '.'; or "none""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npam-service = """#,
            #"4:15: job "j": pam-service: "" is not the name of a file in /etc/pam.d such as "cron": small "#
                + #"letters, digits, '_', '-' and '.', at most 64, the first not '.'; or "none""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npam-service = ".x""#,
            #"4:15: job "j": pam-service: ".x" is not the name of a file in /etc/pam.d such as "cron": small "#
                + #"letters, digits, '_', '-' and '.', at most 64, the first not '.'; or "none""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npam-service = "other""#,
            #"4:15: job "j": pam-service: "other" is what PAM uses for services that it does not know; name a "#
                + #"service such as "cron""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npass-environment = ["DB_URL", "LISTEN_FDS"]"#,
            #"4:31: job "j": pass-environment: "LISTEN_FDS" is reserved for timerd and systemd"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npass-environment = ["CREDENTIALS_DIRECTORY"]"#,
            #"4:21: job "j": pass-environment: "CREDENTIALS_DIRECTORY" is reserved for timerd and systemd"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nrun-environment = ["RUN_DRY", "DRY_RUN"]"#,
            #"4:31: job "j": run-environment: "DRY_RUN" does not begin with RUN_; name it in run-environment-any, if no "#
                + "program of the job takes options or code from it"
        ),
        (
            #"every = "1h"\#nshell = "x"\#nrun-environment = ["TAR_OPTIONS"]"#,
            #"4:20: job "j": run-environment: "TAR_OPTIONS" decides what a program loads or runs, and cannot be set for a run"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nrun-environment-any = ["DRY_RUN", "LD_PRELOAD"]"#,
            #"4:35: job "j": run-environment-any: "LD_PRELOAD" decides what a program loads or runs, and cannot be set "#
                + "for a run"
        ),
        (
            #"every = "1h"\#nshell = "x"\#nrun-arguments = ["full", "daily", "full"]"#,
            #"4:35: job "j": run-arguments: "full" is in line 4, column 18 already; remove one of them"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nrun-arguments = ["a\tb"]"#,
            #"4:18: job "j": run-arguments: "a\tb" has a control character"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nrun-environment = ["TIMERD_JOB"]"#,
            #"4:20: job "j": run-environment: "TIMERD_JOB" is reserved for timerd and systemd"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npass-environment = "DB_URL""#,
            #"4:20: job "j": pass-environment: must be an array of names such as ["LANG"], not a string"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npass-environment = ["A=B"]"#,
            #"4:21: job "j": pass-environment: the text is not a valid variable name: letters, digits and '_', no "#
                + "digit first; it has a '=' and perhaps a value"
        ),
        (
            #"after = "1h"\#nshell = "x"\#nfirst = "1s""#,
            #"4:1: job "j": first can only be used with every"#
        ),
        (
            #"cron = "@daily"\#nshell = "x"\#nfrom = "end""#,
            #"4:1: job "j": from can only be used with every"#
        ),
        (
            #"on-boot = "1h"\#nshell = "x"\#nfrom = "start""#,
            #"4:1: job "j": from can only be used with every"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nfrom = "stop""#,
            #"4:8: job "j": from: unknown value "stop"; one of "start", "end""#
        ),
        (
            #"calendar = "Mon 25:00"\#nshell = "x""#,
            #"2:13: job "j": calendar: "Mon 25:00": hour must be 0 to 23"#
        ),
        (
            #"cron = "*/5 * * *"\#nshell = "x""#,
            #"2:17: job "j": cron: "*/5 * * *": a line has five fields: minute, hour, day, month and weekday"#
        ),
        (
            #"calendar = "daily"\#ntimezone = "Europe/Berln"\#nshell = "x""#,
            #"3:12: job "j": timezone: "Europe/Berln" is not a time zone of this machine; names are such as "#
                + "Europe/Berlin (`timedatectl list-timezones`)"
        ),
        (
            #"calendar = "daily CET"\#nshell = "x""#,
            #"2:19: job "j": calendar: "daily CET": "CET" is an abbreviation, which means different offsets "#
                + "in different places; name a place, such as Europe/Berlin"
        ),
        (
            #"at = "tomorrow"\#nshell = "x""#,
            #"2:6: job "j": at: "tomorrow" is not an instant such as "2026-12-24T18:00:00+01:00" (RFC 3339)"#
        ),
        (
            #"at = 2026-12-24T18:00:00Z\#nshell = "x""#,
            #"2:6: job "j": at: must be an instant in quotes, such as "2026-12-24T18:00:00+01:00""#
        ),
        (
            #"cron = "@daily"\#nshell = "x"\#nfirst = "1s""#,
            #"4:1: job "j": first can only be used with every"#
        ),
        (
            #"every = "1h"\#nshell = "a\u0000b""#,
            #"3:9: job "j": shell: holds a NUL character"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nstarting-deadline = "0s""#,
            #"4:21: job "j": starting-deadline: is shorter than 1 s, so that the job might never run: no run starts at the very instant it is due; at least 1 s, or "none""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nconcurrency-max = 2"#,
            #"4:1: job "j": concurrency-max can only be used with concurrency = "allow""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nconcurrency = "allow"\#nconcurrency-max = 0"#,
            #"5:19: job "j": concurrency-max: 0 is out of range; from 1 to 10000"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nconcurrency = "allow"\#nconcurrency-max = 65"#,
            #"5:19: job "j": concurrency-max: is more than max-concurrent of [daemon], which is 64; lower this one or raise that one"#
        ),
    ])
    func refuses(table: String, with message: String) throws {
        let text =
            "[job.j]\n" + table.replacing("\\#n", with: "\n")
            + "\n[job.good]\nshell=\"true\"\nevery=\"1h\"\n"
        let reading = try read(text)
        #expect(reading.errors.count == 1)
        let first = reading.errors[0].description.split(separator: "\n")[0]
        #expect(first == "timerd.toml:\(message)")
        #expect(reading.rejected == ["j"])
        #expect(reading.jobSet.jobs.map(\.name.description) == ["good"], "the others run")
    }
}
