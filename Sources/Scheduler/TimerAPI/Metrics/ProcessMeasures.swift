// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What this process uses, as the kernel says (proc(5), getrlimit(2)). What cannot be read is nil.
struct ProcessMeasures: Sendable {
    var cpu: Duration?
    var residentBytes: Int?
    var virtualBytes: Int?
    var openFiles: Int?
    var openFilesMax: UInt64?

    init() {
        var time = timespec()
        if clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 {
            cpu = .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
        let pages = Self.numbers(in: "/proc/self/statm")
        if pages.count >= 2 {
            let size = Int(getpagesize())
            virtualBytes = pages[0] * size
            residentBytes = pages[1] * size
        }
        openFiles = Self.entries(in: "/proc/self/fd")
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            openFilesMax = UInt64(limit.rlim_cur)
        }
    }

    private static func numbers(in path: String) -> [Int] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = read(file, &buffer, buffer.count)
        guard count > 0 else { return [] }
        return String(decoding: buffer[..<count], as: UTF8.self)
            .split { $0 == " " || $0 == "\n" }.compactMap { Int($0) }
    }

    /// How many entries a directory has, without the descriptor that reads it.
    private static func entries(in path: String) -> Int? {
        guard let directory = opendir(path) else { return nil }
        defer { closedir(directory) }
        var count = 0
        // Three entries are not counted: `.`, `..`, and the descriptor of this directory itself.
        while readdir(directory) != nil { count += 1 }
        return max(0, count - 3)
    }
}
