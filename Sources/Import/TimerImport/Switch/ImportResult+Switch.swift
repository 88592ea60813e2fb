// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension ImportResult {
    /// Why the source cannot be switched, although it can be imported; nil if it can.
    public var switchRefusal: String? {
        guard !jobs.isEmpty else {
            return report.refused.lazy.compactMap(\.message).first ?? "it has no jobs"
        }
        if let job = jobs.first(where: { $0.value(of: "after") != nil }) {
            return "\(job.place): it runs once after it was started, and may not have run yet"
        }
        // The whole timer is switched off, and would no longer start its service at these times.
        for entry in report.entries {
            guard case .reported(_, let why) = entry.outcome, Self.starts(entry.text) else {
                continue
            }
            return "\(entry.place): \(why)"
        }
        return nil
    }

    /// Whether a line of a unit says when a service starts.
    private static func starts(_ line: String) -> Bool {
        let key = line.prefix { $0 != "=" && $0 != " " }
        return (TimerTranslation.triggers + ["OnClockChange", "OnTimezoneChange"])
            .contains(String(key))
    }
}
