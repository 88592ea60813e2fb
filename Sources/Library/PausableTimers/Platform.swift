// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

// Everything that differs between operating systems is in this file. Another one needs a branch
// here, and a build and the tests there: the library was built and tested on Linux with glibc only.
#if canImport(Glibc)
    import Dispatch
    import Glibc
#else
    #error("PausableTimers was built on Linux with glibc only; Platform.swift is what to add to")
#endif

enum Platform {
    // MARK: - Clocks

    /// The clock that does not advance while the machine sleeps: nanoseconds since the boot.
    static var monotonicNanoseconds: Int64 { read(CLOCK_MONOTONIC) }

    /// The clock that advances while the machine sleeps: nanoseconds since the boot.
    static var boottimeNanoseconds: Int64 { read(CLOCK_BOOTTIME) }

    /// The wall clock: nanoseconds since 1970.
    static var wallNanoseconds: Int64 { read(CLOCK_REALTIME) }

    // The seconds and nanoseconds of timespec are read as two words: Swift 6.3 does not find its
    // members if a file that calculates with attoseconds is compiled before this one.
    private static func read(_ clock: clockid_t) -> Int64 {
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 2) { words in
            guard let time = words.baseAddress else { return 0 }
            let pointer = UnsafeMutableRawPointer(time)
            clock_gettime(clock, pointer.assumingMemoryBound(to: timespec.self))
            return Int64(words[0]) * 1_000_000_000 + Int64(words[1])
        }
    }

    /// An instant of the wall clock, for Dispatch.
    static func wallTime(microseconds: Int64) -> DispatchWallTime {
        let nanoseconds = microseconds.multiplied(clampingBy: 1000)
        return .now() + .nanoseconds(Int(nanoseconds.subtracting(clamping: wallNanoseconds)))
    }

    /// The identity of this boot; nil if the system does not tell it.
    static func bootID() -> String? {
        let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)).filter { $0 > 32 }, as: UTF8.self)
    }

    // MARK: - Thread Sanitizer

    typealias Annotation = @convention(c) (UnsafeRawPointer) -> Void

    /// The functions by which a program that was built with Thread Sanitizer learns of a lock that
    /// it does not know; nil in other programs.
    static let sanitizer: (acquire: Annotation, release: Annotation)? = {
        guard let acquire = dlsym(nil, "__tsan_acquire"),
            let release = dlsym(nil, "__tsan_release")
        else { return nil }
        return (
            unsafeBitCast(acquire, to: Annotation.self), unsafeBitCast(release, to: Annotation.self)
        )
    }()

    // MARK: - Files

    /// What failed: the number that the system gives the error.
    struct Failure: Error {
        let code: Int32

        static var last: Failure { Failure(code: errno) }

        var isMissing: Bool { code == ENOENT }
        var isLocked: Bool { code == EWOULDBLOCK }
        var sentence: String { String(cString: strerror(code)) }
    }

    /// Creates a folder with access for its owner only, if it does not exist.
    static func makeFolder(_ path: String) throws(Failure) {
        guard mkdir(path, 0o700) != 0, errno != EEXIST else { return }
        throw .last
    }

    /// An open file or folder, which is closed when this is released.
    struct File: ~Copyable {
        private let descriptor: Int32

        private init(_ descriptor: Int32) { self.descriptor = descriptor }

        deinit { close(descriptor) }

        /// Opens a folder, but follows no link.
        static func folder(_ path: String) throws(Failure) -> File {
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { throw .last }
            return File(descriptor)
        }

        /// Opens a file of this folder, and creates it for writing; follows no link.
        func file(_ name: String, forWriting: Bool) throws(Failure) -> File {
            let mode = forWriting ? O_RDWR | O_CREAT : O_RDONLY
            let file = openat(
                descriptor, name, mode | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600 as mode_t)
            guard file >= 0 else { throw .last }
            return File(file)
        }

        /// Deletes a file of this folder.
        func removeFile(_ name: String) throws(Failure) {
            guard unlinkat(descriptor, name, 0) == 0 else { throw .last }
        }

        /// Whether it is neither a folder nor a device.
        var isRegular: Bool {
            var status = stat()
            return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        }

        /// Takes the lock that only one program can have, without waiting.
        func lock() throws(Failure) {
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw .last }
        }

        /// A child that another thread has just forked has a copy of the descriptor until its exec,
        /// and that copy would keep the lock (flock(2)). Therefore the lock is released explicitly,
        /// for all copies.
        func unlock() { flock(descriptor, LOCK_UN) }

        /// The bytes from `offset` on, at most `count`; none if they cannot be read.
        func read(_ count: Int, at offset: Int) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: count)
            let count = pread(descriptor, &bytes, count, offset)
            return Array(bytes.prefix(max(0, count)))
        }

        func write(_ bytes: [UInt8], at offset: Int) throws(Failure) {
            let written = pwrite(descriptor, bytes, bytes.count, offset)
            guard written == bytes.count else {
                throw written < 0 ? .last : Failure(code: EIO)
            }
        }

        /// Returns when what was written is on the disk.
        func synchronize() throws(Failure) {
            guard fdatasync(descriptor) == 0 else { throw .last }
        }
    }
}
