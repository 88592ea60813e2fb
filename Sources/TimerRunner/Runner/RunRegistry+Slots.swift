// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore

extension RunRegistry {
    /// The file, mapped a page of slots at a time: none ever moves, and a process may be writing into one.
    struct Slots {
        static let pageBytes = Slot.perPage * Slot.bytes

        private var pages: [UnsafeMutableRawPointer] = []
        /// The slots of the runs that have one.
        var places: [Run.ID: Int] = [:]
        /// The others; the one that was in use last is taken first, since it is in the cache.
        var free: [Int] = []

        /// Maps what is in the file. A slot that says nothing of a run is free.
        init(mapping file: Int32) throws(Runner.Failure) {
            var status = stat()
            guard fstat(file, &status) == 0 else {
                throw Runner.Failure("cannot look at the file of registry", errno)
            }
            guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
                status.st_nlink == 1, status.st_mode & 0o077 == 0
            else {
                throw Runner.Failure(
                    "the file of registry, \(RunRegistry.fileName), is not a file of this user's alone; remove it",
                    EPERM)
            }
            for _ in 0..<Int(status.st_size) / Self.pageBytes {
                guard map(file) else {
                    let code = errno
                    unmap()
                    throw Runner.Failure("cannot map the file of registry", code)
                }
            }
            for place in free.indices {
                guard let run = run(in: slot(place)), places[run] == nil else { continue }
                places[run] = place
            }
            let taken = Set(places.values)
            free.removeAll { taken.contains($0) }
        }

        func slot(_ place: Int) -> UnsafeMutableRawPointer {
            pages[place / Slot.perPage] + place % Slot.perPage * Slot.bytes
        }

        private func run(in slot: UnsafeMutableRawPointer) -> Run.ID? {
            guard slot.mark.pointee.stage != CSPAWN_MARK_FREE else { return nil }
            let words = slot.text(Slot.beginning..<Slot.end).split(separator: " ")
            guard words.count == Slot.words, words[0] == "timerd-run", words[1] == "2" else {
                return nil
            }
            return Run.ID(String(words[2]))
        }

        /// The place of a slot for the run; nil if the file cannot grow.
        mutating func take(for run: Run.ID, growing file: Int32) -> Int? {
            if free.isEmpty {
                // With room for it on the disk: else whoever writes there would be killed (mmap(2), SIGBUS).
                let size = off_t(pages.count * Self.pageBytes)
                guard posix_fallocate(file, size, off_t(Self.pageBytes)) == 0, map(file) else {
                    return nil
                }
            }
            guard let place = free.popLast() else { return nil }
            places[run] = place
            return place
        }

        /// Maps the next page.
        private mutating func map(_ file: Int32) -> Bool {
            let page = mmap(
                nil, Self.pageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                off_t(pages.count * Self.pageBytes))
            guard let page, page != MAP_FAILED else { return false }
            // What becomes a job's process has no business in the registry of others.
            madvise(page, Self.pageBytes, MADV_DONTFORK)
            let first = pages.count * Slot.perPage
            pages.append(page)
            free += (first..<first + Slot.perPage).reversed()
            return true
        }

        mutating func unmap() {
            for page in pages { munmap(page, Self.pageBytes) }
            pages = []
        }
    }
}

extension UnsafeMutableRawPointer {
    /// What the process writes into a slot.
    var mark: UnsafeMutablePointer<cspawn_mark> { assumingMemoryBound(to: cspawn_mark.self) }

    /// Writes a line into a part of a slot, cut to the room there is.
    func put(_ line: String, _ part: Range<Int>) {
        var line = line
        line.withUTF8 { bytes in
            let count = min(bytes.count, part.count - 1)
            (self + part.lowerBound).copyMemory(from: bytes.baseAddress!, byteCount: count)
            storeBytes(of: 0, toByteOffset: part.lowerBound + count, as: UInt8.self)
        }
    }

    /// The line in a part of a slot.
    func text(_ part: Range<Int>) -> String {
        let bytes = UnsafeRawBufferPointer(start: self + part.lowerBound, count: part.count)
        return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}
