// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerImport
import TimerZones

/// Compares when crontab lines run with when the jobs run: cron's side by walking through the minutes of local
/// time, which the C library tells, and the side of the jobs by timerd's own schedules.
enum CronComparison {
    static func compare(
        _ result: ImportResult, _ times: [ImportedTimes]
    ) throws -> (compared: [FiringComparison], left: [String]) {
        let zones = ZoneFiles()
        let start = Terminal.now
        let local = try zones.local()
        let sources = Dictionary(times.map { ($0.job, $0) }) { first, _ in first }
        var compared: [FiringComparison] = []
        var left: [String] = []
        for job in result.jobs {
            let firings = try job.firings(after: start, local: local) { try zones.rules(named: $0) }
            guard let firings, let source = sources[job.name], !source.times.isReboot else {
                left.append(
                    "\(job.place): job \(job.name): not compared, because it does not run at times of the clock"
                )
                continue
            }
            let end = CronSimulation.end(after: start)
            compared.append(
                FiringComparison(
                    job: job.name, place: job.place,
                    source: walk(source, after: start), result: firings.filter { $0 <= end }))
        }
        return (compared, left)
    }

    /// The firings of a line in its time zone.
    private static func walk(_ source: ImportedTimes, after start: WallInstant) -> [WallInstant] {
        let old = getenv("TZ").map { String(cString: $0) }
        if let zone = source.zone { setenv("TZ", zone, 1) }
        tzset()
        defer {
            if let old { setenv("TZ", old, 1) } else { unsetenv("TZ") }
            tzset()
        }
        return CronSimulation { seconds in
            var (instant, fields) = (time_t(seconds), tm())
            localtime_r(&instant, &fields)
            return LocalMinute(
                minute: Int(fields.tm_min), hour: Int(fields.tm_hour), day: Int(fields.tm_mday),
                month: Int(fields.tm_mon) + 1, weekday: Int(fields.tm_wday),
                offset: fields.tm_gmtoff)
        }.firings(of: source.times, after: start)
    }
}
