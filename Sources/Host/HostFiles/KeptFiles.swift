// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Files that a process needs at their paths for as long as it runs: sockets, locks, records. Someone else may delete
/// them meanwhile: a cleaner of temporary files, the end of a login session, an administrator. They are made again
/// then.
///
/// Not thread-safe: everything but `descriptor` is used on one thread or queue at a time.
public final class KeptFiles {
    /// What a user can do about deleted files, for the log.
    public static let hint =
        "exclude the directory from what cleans it, such as with `x` in tmpfiles.d(5)"

    /// A file that is kept, with what makes it again.
    public struct Part: Sendable {
        /// The path at which it must be.
        public var path: String
        /// Makes it again, and with it the directories that are missing.
        public var make: @Sendable () throws(Directory.Failure) -> Void

        /// A file at this path, which is there.
        public init(path: String, make: @escaping @Sendable () throws(Directory.Failure) -> Void) {
            self.path = path
            self.make = make
        }
    }

    /// What a look found.
    public struct Finding {
        /// The paths of what was gone, and is there again.
        public var made: [String] = []
        /// Why something that is gone could not be made, if that was not so at the last look as well.
        public var failure: Directory.Failure?
    }

    /// How long to wait after a change, because one that deletes a file is often about to delete others, and how long
    /// after a look; in nanoseconds.
    private static let delay: Int64 = 100_000_000
    private static let pause: Int64 = 1_000_000_000
    /// How long to wait until what has failed is tried again, and between two looks if the kernel reports no changes.
    private static let retry: Int64 = 10_000_000_000

    /// The device and the number of a file, which tell it from another one at its path.
    private struct Identity: Equatable {
        var device: UInt
        var number: UInt

        /// Nil if there is no file at the path.
        init?(of path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            (device, number) = (UInt(status.st_dev), UInt(status.st_ino))
        }
    }

    private var parts: [(part: Part, identity: Identity?)]
    /// Readable when something may be gone (inotify(7)): call `noteChange` then. -1 if the kernel has no place for it.
    public let descriptor: Int32
    /// When to look, in nanoseconds of CLOCK_MONOTONIC; nil: after the next change.
    public private(set) var lookAt: Int64?
    private var lastLook: Int64?
    private var failure: Directory.Failure?

    /// Watches files that are there now. A later part is made after an earlier one.
    public init(_ parts: [Part], at now: Int64) {
        self.parts = parts.map { ($0, Identity(of: $0.path)) }
        descriptor = InotifyEvent.descriptor()
        watch()
        // Something may have been deleted before it was watched.
        lookAt = now
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Takes note that `descriptor` is readable, which it is not any more after this.
    public func noteChange(at now: Int64) {
        _ = InotifyEvent.read(from: descriptor)
        guard lookAt == nil else { return }
        lookAt = max(now + Self.delay, (lastLook ?? .min / 2) + Self.pause)
    }

    /// Makes what is gone, or is not what it was, up to the first part that cannot be made.
    ///
    /// - Returns: nil if no look is due.
    /// - Complexity: O(*n*) system calls in the number of parts.
    public func look(at now: Int64) -> Finding? {
        guard let due = lookAt, now >= due else { return nil }
        lastLook = now
        var finding = find()
        lookAt = finding.failure != nil || descriptor < 0 ? now + Self.retry : nil
        let isKnown = finding.failure == failure
        failure = finding.failure
        if isKnown { finding.failure = nil }
        return finding
    }

    private func find() -> Finding {
        var finding = Finding()
        // What is deleted before its new directory is watched is found by the second pass.
        for _ in 0..<2 {
            do throws(Directory.Failure) {
                guard try makeMissing(&finding.made) else { break }
            } catch {
                finding.failure = error
                break
            }
            watch()
        }
        return finding
    }

    /// Makes again what is missing or was replaced. Returns whether anything was.
    private func makeMissing(_ made: inout [String]) throws(Directory.Failure) -> Bool {
        var wasMissing = false
        for index in parts.indices {
            let part = parts[index].part
            let now = Identity(of: part.path)
            if let now, now == parts[index].identity { continue }
            wasMissing = true
            // If it cannot be made, the next look tries again.
            parts[index].identity = nil
            try part.make()
            parts[index].identity = Identity(of: part.path)
            if !made.contains(part.path) { made.append(part.path) }
        }
        return wasMissing
    }

    private func watch() {
        guard descriptor >= 0 else { return }
        let mask =
            IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR
        for folder in Set(parts.map { Self.folder(of: $0.part.path) }) {
            inotify_add_watch(descriptor, folder, UInt32(mask))
        }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
