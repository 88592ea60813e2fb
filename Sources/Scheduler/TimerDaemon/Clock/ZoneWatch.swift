// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HostFiles
import Logging
import Synchronization
package import TimerCore
package import TimerZones

/// Notices changes of the machine's time zones: of the link `/etc/localtime`, and of the zone
/// files, which an update of the package tzdata replaces one after the other.
///
/// It has a queue of its own, because reading files may wait for a disk.
package final class ZoneWatch: Sendable {
    /// How long to wait for further changes before the zones are read again.
    static let delay: DispatchTimeInterval = .milliseconds(500)
    /// The deepest directory below the zone files that is watched; the database has three levels.
    static let depthMax = 4

    private let queue = DispatchQueue(label: "timerd.zones", qos: .utility)
    private let descriptor: Int32
    private let folder: String
    private let localFile: String
    private let changed: @Sendable () -> Void
    private let state = Mutex(State())

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private struct State {
        var source: (any DispatchSourceRead)?
        var isPlanned = false
        /// The watch on the directory of the machine's own zone, in which many other files change
        /// too.
        var localWatch: Int32 = -1
    }

    /// Calls `changed` on a queue of its own some time after each change.
    package init(
        folder: String = ZoneFiles.standardFolder, local: String = ZoneFiles.standardLocal,
        changed: @escaping @Sendable () -> Void
    ) throws(Failure) {
        let descriptor = InotifyEvent.descriptor()
        guard descriptor >= 0 else {
            throw Failure(description: "cannot watch the time zones: \(systemError())")
        }
        self.descriptor = descriptor
        self.folder = folder
        localFile = local
        self.changed = changed
        watchAll()
        state.withLock { state in
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler { @Sendable [weak self] in self?.read() }
            source.setCancelHandler { @Sendable in close(descriptor) }
            source.activate()
            state.source = source
        }
    }

    deinit { state.withLock { $0.source?.cancel() } }

    private func watchAll() {
        let slash = localFile.lastIndex(of: "/") ?? localFile.startIndex
        let localFolder = String(localFile[..<slash])
        let watch = add(localFolder.isEmpty ? "/" : localFolder)
        state.withLock { $0.localWatch = watch }
        self.watch(folder, depth: 1)
    }

    /// Watches a directory and those in it. A directory that does not exist is not watched: a
    /// machine without zone files has no zones that could change.
    private func watch(_ folder: String, depth: Int) {
        guard add(folder) >= 0, depth < Self.depthMax, let listing = opendir(folder) else { return }
        defer { closedir(listing) }
        while let entry = readdir(listing) {
            guard entry.pointee.d_type == UInt8(DT_DIR) else { continue }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { watch("\(folder)/\(name)", depth: depth + 1) }
        }
    }

    private func add(_ folder: String) -> Int32 {
        let events = IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE
        return inotify_add_watch(
            descriptor, folder, UInt32(bitPattern: Int32(events)) | UInt32(IN_ONLYDIR))
    }

    private func read() {
        guard InotifyEvent.read(from: descriptor).contains(where: isRelevant) else { return }
        let isFirst = state.withLock { state in
            defer { state.isPlanned = true }
            return !state.isPlanned
        }
        guard isFirst else { return }
        queue.asyncAfter(deadline: .now() + Self.delay) { [weak self] in
            guard let self else { return }
            state.withLock { $0.isPlanned = false }
            // Adds watches for new directories; those that exist already are kept.
            watchAll()
            changed()
        }
    }

    /// Whether an event concerns a zone. Every event below the zone files does, and an overflow may.
    private func isRelevant(_ event: InotifyEvent) -> Bool {
        event.watch != state.withLock(\.localWatch)
            || event.name == localFile.split(separator: "/").last.map(String.init)
    }
}

/// The zones of the machine at this time.
package struct ZoneReading: Sendable {
    /// The zones that could be read, by name.
    package var named: [String: ZoneRules] = [:]
    /// The zone of the machine; nil if it cannot be read.
    package var local: ZoneRules?
    /// The zones that could not be read, whose last known rules remain.
    package var failures: [Failure] = []

    package struct Failure: Sendable {
        /// Its name; nil: it is the machine's own.
        package var zone: String?
        /// What is wrong, and what to do next.
        var reason: String

        /// A sentence with the jobs of the zone, and what becomes of them at a restart.
        package func sentence(_ jobs: [Job.Name]) -> String {
            guard zone != nil else {
                return "\(reason); jobs keep the time zone rules that were read before"
            }
            let shown = 10
            let names =
                jobs.prefix(shown).map(\.description).joined(separator: ", ")
                + (jobs.count > shown ? ", …" : "")
            return
                "\(reason); \(plural(jobs.count, "job")) (\(names)) \(jobs.count == 1 ? "keeps" : "keep") the rules that "
                + "were read before until timerd is restarted, and \(jobs.count == 1 ? "is" : "are") not loaded then: install "
                + "the package that has the zone, such as tzdata-legacy, or name another one"
        }
    }

    package init(
        of names: [String], in files: ZoneFiles = ZoneFiles()
    ) {
        for name in names {
            do throws(ZoneFiles.Failure) {
                named[name] = try files.rules(named: name)
            } catch {
                failures.append(Failure(zone: name, reason: "\(error)"))
            }
        }
        do throws(ZoneFiles.Failure) { local = try files.local() } catch {
            failures.append(Failure(zone: nil, reason: "\(error)"))
        }
    }
}

extension Loop {
    /// The jobs whose schedules use these zones, by the names of the zones.
    /// - Complexity: O(*n*) in the number of jobs.
    package func jobs(inZones names: Set<String>) -> [String: [Job.Name]] {
        var jobs: [String: [Job.Name]] = [:]
        for name in agenda.names {
            guard case .wall(let schedule) = agenda.definition(of: name)?.schedule else { continue }
            let zones = Set(schedule.zones.filter { !$0.isLocal }.map(\.name))
            for zone in zones.intersection(names) { jobs[zone, default: []].append(name) }
        }
        return jobs
    }
}
