// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HostFiles
import Synchronization
import TimerCore

/// Decides when a series of changes is over.
struct QuietPeriod {
    /// How long nothing may have changed before the series is over.
    static let length: Duration = .seconds(1)
    /// How long a series of changes may last. Otherwise a program that writes without end would put
    /// off the changes of others for ever.
    static let delayMax: Duration = .seconds(30)

    private var first: Duration?
    private var last: Duration = .zero

    /// Records a change at this instant, by any clock.
    ///
    /// - Returns: after how long to call `isOver`; nil if that is planned already.
    mutating func begin(at now: Duration) -> Duration? {
        last = now
        guard first == nil else { return nil }
        first = now
        return Self.length
    }

    /// Records that a file is still being written. This counts only after a change.
    mutating func extend(at now: Duration) { if first != nil { last = now } }

    /// - Returns: nil if the changes are over, otherwise after how long to ask again.
    mutating func isOver(at now: Duration) -> Duration? {
        guard let first else { return nil }
        let left = min(last + Self.length, first + Self.delayMax) - now
        guard left <= .zero else { return left }
        self.first = nil
        return nil
    }
}

/// Notices changes of the files of a configuration, once they are over. Everything happens on the
/// queue of the reloads.
final class ConfigWatch: Sendable {
    /// The clock, and a way to be called later on the queue of the reloads.
    struct Alarm: Sendable {
        /// The time since some instant, by a clock that cannot be set.
        var now: @Sendable () -> Duration
        var after: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

        static func on(_ queue: DispatchQueue) -> Alarm {
            Alarm(
                now: {
                    var time = timespec()
                    clock_gettime(CLOCK_MONOTONIC, &time)
                    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
                },
                after: { span, body in
                    let nanoseconds = Int(clamping: span.wholeNanoseconds)
                    queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds), execute: body)
                })
        }
    }

    private struct Watched {
        var path: String
        var place: ConfigPlaces.Place
    }

    private struct State {
        var watches: [Int32: Watched] = [:]
        var quiet = QuietPeriod()
        /// The paths of the files of dates.
        var datesFiles: [String] = []
        /// The last complaint about a directory that is not watched; nil if all are watched.
        var complaint: String?
    }

    private let main: String
    private let notices: any DirectoryNotices
    private let alarm: Alarm
    private let changed: @Sendable () -> Void
    private let complain: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - main: the path of the main file.
    ///   - changed: called some time after each change, when the changes are over.
    ///   - complain: called once for each reason why changes are not noticed, with a sentence.
    init(
        _ main: String, notices: any DirectoryNotices, alarm: Alarm,
        changed: @escaping @Sendable () -> Void, complain: @escaping @Sendable (String) -> Void
    ) {
        self.main = main
        self.notices = notices
        self.alarm = alarm
        self.changed = changed
        self.complain = complain
    }

    /// Starts watching. The caller has to find out itself what has changed before.
    func begin(on queue: DispatchQueue) {
        look()
        notices.begin(on: queue) { [weak self] in self?.read() }
    }

    func end() { notices.end() }

    /// Watches the directories that lead to these files of dates as well.
    func look(for datesFiles: some Sequence<String>) {
        let files = datesFiles.sorted()
        state.withLock { $0.datesFiles = files }
        look()
    }

    /// Watches the directories that lead to the configuration now, and no others.
    func look() {
        let places = ConfigPlaces(of: main, and: state.withLock(\.datesFiles)).places
        let before = state.withLock(\.watches)
        var watches: [Int32: Watched] = [:]
        var complaint: String?
        var isGone = false
        // Sorted, so that the same one of several complaints is reported each time.
        for (path, place) in places.sorted(by: { $0.key < $1.key }) {
            do throws(Inotify.Failure) {
                try add(path, place, to: &watches)
            } catch {
                if error.code == ENOENT || error.code == ENOTDIR {
                    isGone = true
                } else if place.isNeeded || error.code == ENOSPC {
                    complaint = complaint ?? Self.complaint(error, of: path)
                }
            }
        }
        for watch in before.keys where watches[watch] == nil { notices.remove(watch) }
        let isNew = state.withLock { [watches, complaint] state in
            defer { state.complaint = complaint }
            state.watches = watches
            return state.complaint != complaint
        }
        if isNew, let complaint { complain(complaint) }
        // The directory was there a moment ago. `look` runs again when the changes are over, and
        // finds the directory that replaced it.
        if isGone { note(.change) }
    }

    private func add(
        _ path: String, _ place: ConfigPlaces.Place, to watches: inout [Int32: Watched]
    ) throws(Inotify.Failure) {
        let watch = try notices.add(path, place.mask)
        guard let other = watches[watch] else {
            watches[watch] = Watched(path: path, place: place)
            return
        }
        // One directory has two names, for example because of a bind mount.
        var both = other
        both.place.mask |= place.mask
        both.place.names.formUnion(place.names)
        both.place.isJobs = both.place.isJobs || place.isJobs
        watches[watch] = both
        _ = try notices.add(path, both.place.mask)
    }

    /// What an event says about the configuration.
    private enum Meaning {
        case nothing
        /// A file is being written.
        case progress
        case change
    }

    private func read() {
        for event in notices.read() { note(meaning(of: event)) }
    }

    private func note(_ meaning: Meaning) {
        let now = alarm.now()
        let delay: Duration? = state.withLock { state in
            switch meaning {
            case .nothing: return nil
            case .progress:
                state.quiet.extend(at: now)
                return nil
            case .change: return state.quiet.begin(at: now)
            }
        }
        if let delay { wait(delay) }
    }

    private func wait(_ delay: Duration) {
        alarm.after(delay) { [weak self] in
            guard let self else { return }
            let now = alarm.now()
            if let more = state.withLock({ $0.quiet.isOver(at: now) }) { return wait(more) }
            // This comes before the reload, so that no change from here on is missed.
            look()
            changed()
        }
    }

    private func meaning(of event: InotifyEvent) -> Meaning {
        // The kernel dropped some events, and any of them may have counted.
        if event.has(IN_Q_OVERFLOW) { return .change }
        guard let watched = state.withLock({ $0.watches[event.watch] }) else { return .nothing }
        if event.has(IN_IGNORED) {
            _ = state.withLock { $0.watches.removeValue(forKey: event.watch) }
        }
        if event.name.isEmpty {
            // The directory itself is gone, or it has other permissions, for which its files may be
            // refused.
            let counts = event.has(IN_MOVE_SELF, IN_DELETE_SELF, IN_UNMOUNT, IN_IGNORED, IN_ATTRIB)
            return counts ? .change : .nothing
        }
        let place = watched.place
        guard
            place.names.contains(event.name)
                || place.isJobs && ConfigPlaces.isJobsFile(event.name)
        else { return .nothing }
        if event.has(IN_MODIFY) { return .progress }
        guard event.has(IN_CREATE), !event.has(IN_ISDIR) else { return .change }
        // Another event will report that the file is written. For links and hard links no more
        // events come.
        var status = stat()
        let isFile =
            lstat("\(watched.path)/\(event.name)", &status) == 0
            && status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1
        return isFile ? .progress : .change
    }

    private static func complaint(_ failure: Inotify.Failure, of path: String) -> String {
        let why =
            failure.code == ENOSPC
            ? "the limit of inotify watches is reached (raise fs.inotify.max_user_watches with sysctl)"
            : "\(path) cannot be watched: \(systemError(failure.code))"
        return notNoticed(why)
    }

    /// The sentence for the log when nothing can be watched.
    static func complaint(ofStart failure: Inotify.Failure) -> String {
        let isLimit = failure.code == EMFILE
        return notNoticed(
            isLimit
                ? "the limit of inotify instances is reached (raise fs.inotify.max_user_instances with sysctl)"
                : "inotify does not work: \(systemError(failure.code))")
    }

    private static func notNoticed(_ why: String) -> String {
        "Changes of the configuration are not noticed, since \(why); after a change, use `timerctl reload`"
    }
}
