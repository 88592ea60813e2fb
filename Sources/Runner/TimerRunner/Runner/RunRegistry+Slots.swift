// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore

extension RunRegistry {
    /// The file, mapped one page of slots at a time. A slot never moves, because a process may be
    /// writing to it.
    struct Slots {
        static let pageBytes = Slot.perPage * Slot.bytes

        private(set) var file: Int32
        private var pages: [UnsafeMutableRawPointer] = []
        /// The files before this one, while processes may still write into them.
        private(set) var former: [Former] = []
        /// The slot of each recorded run.
        var places: [Run.ID: Int] = [:]
        /// The free slots; the one that was used last is used first, because it is in the CPU
        /// cache.
        var free: [Int] = []
        /// What the registry is known by; nil in a new one.
        private(set) var memory: UInt64?

        /// A file that was deleted, and that processes still have open.
        struct Former {
            var file: Int32
            var pages: [UnsafeMutableRawPointer]
            /// The slots of the runs whose processes have not yet written into it, by their runs.
            var awaited: [Run.ID: UnsafeMutableRawPointer]
        }

        /// Maps the existing file. A slot without a valid record is free.
        init(mapping file: Int32) throws(Runner.Failure) {
            self.file = file
            var status = stat()
            guard fstat(file, &status) == 0 else {
                throw Runner.Failure("cannot stat the run registry", errno)
            }
            guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
                status.st_nlink == 1, status.st_mode & 0o077 == 0
            else {
                throw Runner.Failure(
                    "the run registry, \(RunRegistry.fileName), must be a regular file that only this user can access; remove it",
                    EPERM)
            }
            for _ in 0..<Int(status.st_size) / Self.pageBytes {
                guard map() else {
                    let code = errno
                    unmap()
                    throw Runner.Failure("cannot map the run registry", code)
                }
            }
            var taken: Set<Int> = []
            for place in free.indices {
                if memory == nil, let found = memory(in: slot(place)) {
                    memory = found
                    taken.insert(place)
                }
                guard let run = run(in: slot(place)), places[run] == nil else { continue }
                places[run] = place
            }
            taken.formUnion(places.values)
            free.removeAll { taken.contains($0) }
        }

        func slot(_ place: Int) -> UnsafeMutableRawPointer {
            pages[place / Slot.perPage] + place % Slot.perPage * Slot.bytes
        }

        private func run(in slot: UnsafeMutableRawPointer) -> Run.ID? {
            guard slot.record.pointee.stage != CSPAWN_RECORD_FREE else { return nil }
            let words = slot.text(Slot.firstLine..<Slot.secondLine).split(separator: " ")
            guard words.count == Slot.words, words[0] == "timerd-run", words[1] == "2" else {
                return nil
            }
            return Run.ID(String(words[2]))
        }

        private static let memoryWord = "timerd-registry"

        private func memory(in slot: UnsafeMutableRawPointer) -> UInt64? {
            guard slot.record.pointee.stage != CSPAWN_RECORD_FREE else { return nil }
            let words = slot.text(Slot.firstLine..<Slot.secondLine).split(separator: " ")
            guard words.count == 3, words[0] == Self.memoryWord, words[1] == "1" else { return nil }
            return UInt64(words[2])
        }

        /// The identity of the registry, which a new one gets now; nil if the file cannot grow.
        mutating func identify() -> UInt64? {
            if let memory { return memory }
            guard reserve(), let place = free.popLast() else { return nil }
            let made = UInt64.random(in: 1 ... .max)
            slot(place).put("\(Self.memoryWord) 1 \(made)", Slot.firstLine..<Slot.secondLine)
            cspawn_set_stage(slot(place).record, CSPAWN_RECORD_CREATED)
            memory = made
            return made
        }

        /// Allocates a slot for the run; nil if the file cannot grow.
        mutating func take(for run: Run.ID) -> Int? {
            guard reserve(), let place = free.popLast() else { return nil }
            places[run] = place
            return place
        }

        /// Makes sure that there is a free slot; false if the file cannot grow.
        mutating func reserve() -> Bool {
            guard free.isEmpty else { return true }
            // Disk space is allocated first: without it, a process that writes there would be
            // killed (mmap(2), SIGBUS).
            let size = off_t(pages.count * Self.pageBytes)
            let code = posix_fallocate(file, size, off_t(Self.pageBytes))
            guard code == 0 else {
                errno = code
                return false
            }
            return map()
        }

        /// Maps the next page of the file, which has the next slots.
        private mutating func map() -> Bool {
            let page = mmap(
                nil, Self.pageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                off_t(pages.count * Self.pageBytes))
            guard let page, page != MAP_FAILED else { return false }
            // The process of a job must not get a copy of the records of others.
            madvise(page, Self.pageBytes, MADV_DONTFORK)
            let first = pages.count * Slot.perPage
            pages.append(page)
            free += (first..<first + Slot.perPage).reversed()
            return true
        }

        mutating func unmap() {
            for page in pages { munmap(page, Self.pageBytes) }
            pages = []
            for old in former { Self.discard(old) }
            former = []
        }

        private static func discard(_ old: Former) {
            for page in old.pages { munmap(page, pageBytes) }
            close(old.file)
        }

        /// Copies all slots to a new, empty file and uses that. A process that was made before and has not yet
        /// written its record writes into the former one.
        mutating func move(to file: Int32) throws(Runner.Failure) {
            var other = try Self(mapping: file)
            guard other.pages.isEmpty else {
                other.unmap()
                throw Runner.Failure("another runner has made \(RunRegistry.fileName)", EEXIST)
            }
            for page in pages {
                other.free = []
                guard other.reserve(), let copy = other.pages.last else {
                    let code = errno
                    other.unmap()
                    throw Runner.Failure("cannot extend the run registry", code)
                }
                copy.copyMemory(from: page, byteCount: Self.pageBytes)
            }
            let awaited = places.compactMapValues { place in
                slot(place).record.pointee.stage == CSPAWN_RECORD_CREATED ? slot(place) : nil
            }
            former.append(Former(file: self.file, pages: pages, awaited: awaited))
            (self.file, pages) = (file, other.pages)
            carry()
        }

        /// Copies what processes have written into former files, and frees those that are not written any more.
        mutating func carry() {
            for index in former.indices {
                former[index].awaited = former[index].awaited.filter { run, old in
                    // It was forgotten, or has ended without a process.
                    guard let place = places[run],
                        slot(place).record.pointee.stage == CSPAWN_RECORD_CREATED
                    else { return false }
                    let written = old.record.pointee
                    guard written.stage == CSPAWN_RECORD_SPAWNED else { return true }
                    slot(place).record.note(
                        written.pid, earliest: written.earliest, latest: written.latest)
                    return false
                }
            }
            for old in former where old.awaited.isEmpty { Self.discard(old) }
            former.removeAll(where: \.awaited.isEmpty)
        }
    }
}

extension UnsafeMutablePointer<cspawn_run_record> {
    /// Writes what the process of a run writes itself, the stage last.
    func note(_ pid: Int32, earliest: Int64, latest: Int64) {
        pointee.pid = pid
        pointee.earliest = earliest
        pointee.latest = latest
        cspawn_set_stage(self, CSPAWN_RECORD_SPAWNED)
    }
}

extension UnsafeMutableRawPointer {
    /// The binary part of a slot, which the process of the run writes.
    var record: UnsafeMutablePointer<cspawn_run_record> {
        assumingMemoryBound(to: cspawn_run_record.self)
    }

    /// Writes a line into a part of a slot, cut to its size.
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
