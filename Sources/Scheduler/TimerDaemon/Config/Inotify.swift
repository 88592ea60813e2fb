// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HostFiles
import Synchronization

/// A source of changes in directories, which tests replace.
protocol DirectoryNotices: Sendable {
    /// Reports changes in a directory from now on. A directory that is watched already gets the new
    /// mask.
    ///
    /// - Returns: the number of the watch, which is the same for each path of one directory.
    func add(_ folder: String, _ mask: UInt32) throws(Inotify.Failure) -> Int32
    /// Does nothing if the kernel has removed the watch already.
    func remove(_ watch: Int32)
    /// The events since the last call, without waiting.
    func read() -> [InotifyEvent]
    /// Calls `changed` on this queue when there is something to read, but not again at once: what comes
    /// soon after that is read together.
    func begin(on queue: DispatchQueue, changed: @escaping @Sendable () -> Void)
    /// Ends all watches.
    func end()
}

/// The kernel's notifications of changes in directories (inotify(7)).
final class Inotify: DirectoryNotices {
    /// How long later events are collected. Otherwise a program that writes into the directory of the
    /// configuration all the time would wake this process for each write.
    private static let rest: DispatchTimeInterval = .milliseconds(100)

    /// Why a directory cannot be watched: an error number of the system.
    struct Failure: Error, Equatable {
        var code: Int32
    }

    private let descriptor: Int32
    private let state = Mutex(State())

    private struct State {
        var source: (any DispatchSourceRead)?
        /// Whether the end of the source closes the descriptor.
        var hasBegun = false
        /// Whether the source is suspended, to collect later events.
        var isResting = false

        mutating func resume() {
            guard isResting else { return }
            isResting = false
            source?.resume()
        }
    }

    init() throws(Failure) {
        descriptor = InotifyEvent.descriptor()
        guard descriptor >= 0 else { throw Failure(code: errno) }
    }

    deinit {
        end()
        if !state.withLock(\.hasBegun) { close(descriptor) }
    }

    func add(_ folder: String, _ mask: UInt32) throws(Failure) -> Int32 {
        let watch = inotify_add_watch(descriptor, folder, mask | UInt32(IN_ONLYDIR))
        guard watch >= 0 else { throw Failure(code: errno) }
        return watch
    }

    func remove(_ watch: Int32) { _ = inotify_rm_watch(descriptor, watch) }

    func read() -> [InotifyEvent] { InotifyEvent.read(from: descriptor) }

    func begin(on queue: DispatchQueue, changed: @escaping @Sendable () -> Void) {
        state.withLock { state in
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler { @Sendable [weak self] in
                changed()
                self?.rest(on: queue)
            }
            source.setCancelHandler { @Sendable [descriptor] in close(descriptor) }
            source.activate()
            state.source = source
            state.hasBegun = true
        }
    }

    private func rest(on queue: DispatchQueue) {
        state.withLock { state in
            guard let source = state.source, !state.isResting else { return }
            state.isResting = true
            source.suspend()
        }
        queue.asyncAfter(deadline: .now() + Self.rest) { [weak self] in
            self?.state.withLock { $0.resume() }
        }
    }

    func end() {
        state.withLock { state in
            // A suspended source is not cancelled before it is resumed, and must not be freed.
            state.resume()
            state.source?.cancel()
            state.source = nil
        }
    }
}
