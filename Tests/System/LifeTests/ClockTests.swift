// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

/// The real program with a wall clock that is set while it runs. The machine's clock does not
/// change: a preloaded library adds a difference to the time that the program reads, and subtracts
/// it from the timers that it sets.
@Suite(.ownThreads) struct ClockTests {
    private static let library = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <sys/timerfd.h>
        #include <time.h>
        #include <unistd.h>
        static int by_calendar[4096];
        static long long shift(void) {
            char text[32] = {0};
            int file = open(getenv("SHIFT_FILE"), O_RDONLY | O_CLOEXEC);
            if (file < 0) return 0;
            if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
            close(file);
            return atoll(text);
        }
        int clock_gettime(clockid_t clock, struct timespec *time) {
            int result = (int)syscall(SYS_clock_gettime, clock, time);
            if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += shift();
            return result;
        }
        int timerfd_create(int clock, int flags) {
            int file = (int)syscall(SYS_timerfd_create, clock, flags);
            if (file >= 0 && file < 4096) by_calendar[file] = clock == CLOCK_REALTIME;
            return file;
        }
        int timerfd_settime(int file, int flags, const struct itimerspec *time, struct itimerspec *old) {
            struct itimerspec moved = *time;
            int is_soon = moved.it_value.tv_sec > 0 && moved.it_value.tv_sec < 1LL << 33;
            if (file < 4096 && by_calendar[file] && (flags & TFD_TIMER_ABSTIME) && is_soon) {
                moved.it_value.tv_sec -= shift();
                if (moved.it_value.tv_sec < 1) moved.it_value.tv_sec = 1;
            }
            return (int)syscall(SYS_timerfd_settime, file, flags, &moved, old);
        }
        """

    /// Builds the library and returns its path.
    private func build(in folder: String) throws -> String {
        try Self.library.write(toFile: "\(folder)/shift.c", atomically: true, encoding: .utf8)
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/cc")
        compiler.arguments = [
            "-shared", "-fPIC", "-o", "\(folder)/shift.so", "\(folder)/shift.c",
        ]
        try compiler.run()
        compiler.waitUntilExit()
        try #require(compiler.terminationStatus == 0)
        return "\(folder)/shift.so"
    }

    @Test func theClockIsSet_forwardAndBackByAnHourADayAndToTheEpoch_andSwingsBySeconds() throws {
        // Once an hour, half an hour from now, so that only the steps of the clock make it fire.
        let minute = (LiveDaemon.minuteOfHour() + 30) % 60
        let daemon = try LiveDaemon(
            "[job.hourly]\ncalendar = \"*:\(minute)\"\ntimezone = \"UTC\"\nFIRE\n")
        let library = try build(in: daemon.folder)
        func set(_ seconds: Int) throws {
            try "\(seconds)\n".write(
                toFile: "\(daemon.folder)/shift", atomically: false, encoding: .utf8)
        }
        try set(0)
        try daemon.start(["LD_PRELOAD": library, "SHIFT_FILE": "\(daemon.folder)/shift"])

        // One hour forward: caught up once. Back again: nothing runs twice.
        try set(3600)
        #expect(daemon.nextFiring(until: LiveDaemon.now() + 5)?.text == "hourly 0")
        try set(0)
        #expect(daemon.nextFiring(until: LiveDaemon.now() + 2) == nil)
        // A little more than two hours: one firing for two occurrences, the first of which was due
        // before.
        try set(3600 * 2 + 60)
        #expect(daemon.nextFiring(until: LiveDaemon.now() + 5)?.text == "hourly 0")

        // A day, and the year 1970: these are corrections of the clock, after which nothing is
        // caught up.
        for seconds in [86_400 + 7260, 7260, -1_700_000_000, 0] {
            try set(seconds)
            #expect(daemon.nextFiring(until: LiveDaemon.now() + 1.5) == nil, "set by \(seconds)")
        }
        #expect(daemon.waitForLog("schedules follow the new time"))

        // If the clock swings without crossing a due time, nothing happens.
        for swing in 0..<10 {
            try set(swing % 2 == 0 ? 1 : -1)
            #expect(daemon.nextFiring(until: LiveDaemon.now() + 0.6) == nil)
        }
        #expect(daemon.stop() == 0)
    }

    /// A wall clock after the year 2261 cannot be used for schedules: the daemon says so and does
    /// not start.
    @Test func aClockBehindTheYear2261IsRefusedWithASentence() throws {
        let daemon = try LiveDaemon("[job.a]\nevery = \"1h\"\nFIRE\n")
        let library = try build(in: daemon.folder)
        try "7500000000\n".write(
            toFile: "\(daemon.folder)/shift", atomically: false, encoding: .utf8)
        let process = try Spawned(
            [
                "\(LiveDaemon.programs)/timerd", "run", "--config", daemon.config,
                "--state", "\(daemon.folder)/state", "--runtime", "\(daemon.folder)/run",
                "--log", "stderr",
            ], ["LD_PRELOAD": library, "SHIFT_FILE": "\(daemon.folder)/shift"],
            log: "\(daemon.folder)/log")
        #expect((process.wait() >> 8) & 0xff == 1)
        #expect(
            daemon.log.contains(
                "seconds since 1970, and timerd works in the years 1970 to 2261; set the clock"),
            "\(daemon.log)")
        #expect(access("\(daemon.folder)/state", F_OK) != 0)
    }
}

extension LiveDaemon {
    /// The minute of the wall clock.
    static func minuteOfHour() -> Int { Int(Date().timeIntervalSince1970) / 60 % 60 }
}
