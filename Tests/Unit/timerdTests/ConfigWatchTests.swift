// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import HostFiles
import Synchronization
import Testing

@testable import TimerDaemon

/// Which inotify events of which files count, and when a series of changes is over. The clock and
/// the events are simulated; the files are real.
@Suite struct ConfigWatchTests {
    private func plain(_ folder: String) throws {
        try "".write(toFile: "\(folder)/timerd/timerd.toml", atomically: false, encoding: .utf8)
        mkdir("\(folder)/timerd/jobs.d", 0o755)
    }

    @Test func writingReplacingAndDeletingTheFilesCounts() throws {
        let scene = try Scene(make: plain)
        for flags in [IN_CLOSE_WRITE, IN_MOVED_TO, IN_MOVED_FROM, IN_DELETE, IN_ATTRIB] {
            #expect(scene.count("/timerd", "timerd.toml", flags) == 1, "\(flags)")
            #expect(scene.count("/timerd/jobs.d", "a.toml", flags) == 1, "\(flags)")
        }
        #expect(scene.count("/timerd", "jobs.d", IN_MOVED_TO) == 1)
    }

    @Test func temporaryFilesOfEditorsAndPackageManagersDoNotCount() throws {
        let scene = try Scene(make: plain)
        for name in [".timerd.toml.swp", "timerd.toml~", "4913", "timerd.toml.dpkg-new", "other"] {
            #expect(scene.count("/timerd", name, IN_CLOSE_WRITE) == 0, "\(name)")
        }
        for name in [".a.toml", ".a.toml.swp", "a.toml~", "a.toml.dpkg-new", "#a.toml#", "README"] {
            #expect(scene.count("/timerd/jobs.d", name, IN_CLOSE_WRITE) == 0, "\(name)")
        }
        // And no wake-up is planned for them.
        #expect(scene.time.planned == 0)
    }

    @Test func aBurstIsOneChange_onceNothingChangedForASecond() throws {
        let scene = try Scene(make: plain)
        for _ in 0..<20 {
            scene.notices.report("\(scene.folder)/timerd/jobs.d", "a.toml", IN_CLOSE_WRITE)
            #expect(scene.time.planned == 1)
            scene.time.pass(.milliseconds(900))
        }
        #expect(scene.changes.take() == 0)
        scene.time.pass(.milliseconds(100))
        #expect(scene.changes.take() == 1)
        scene.time.pass(.seconds(100))
        #expect(scene.changes.take() == 0 && scene.time.planned == 0)
    }

    /// A program that writes its file again and again does not delay the changes of other programs
    /// for ever.
    @Test func changesWithoutEndAreUsedNowAndThen() throws {
        let scene = try Scene(make: plain)
        for _ in 0..<200 {
            scene.notices.report("\(scene.folder)/timerd/jobs.d", "a.toml", IN_CLOSE_WRITE)
            scene.time.pass(.milliseconds(500))
        }
        #expect((3...4).contains(scene.changes.take()))
    }

    /// A file that is being written does not count before it is closed.
    @Test func aFileThatIsBeingWrittenIsWaitedFor() throws {
        let scene = try Scene(make: plain)
        let path = "\(scene.folder)/timerd/jobs.d/new.toml"
        try "".write(toFile: path, atomically: false, encoding: .utf8)
        #expect(scene.count("/timerd/jobs.d", "new.toml", IN_CREATE) == 0)
        #expect(scene.count("/timerd/jobs.d", "new.toml", IN_MODIFY) == 0)
        #expect(scene.count("/timerd/jobs.d", "new.toml", IN_CLOSE_WRITE) == 1)
        // This is also true if another file changes.
        scene.notices.report("\(scene.folder)/timerd", "timerd.toml", IN_CLOSE_WRITE)
        scene.time.pass(.milliseconds(900))
        scene.notices.report("\(scene.folder)/timerd/jobs.d", "new.toml", IN_MODIFY)
        scene.time.pass(.milliseconds(900))
        #expect(scene.changes.take() == 0)
        scene.time.pass(.milliseconds(100))
        #expect(scene.changes.take() == 1)
        // For a link no further event comes.
        #expect(symlink("new.toml", "\(scene.folder)/timerd/jobs.d/link.toml") == 0)
        #expect(scene.count("/timerd/jobs.d", "link.toml", IN_CREATE) == 1)
    }

    @Test func aDirectoryThatAppearsLaterIsWatchedFromThenOn() throws {
        let scene = try Scene { folder in
            try "".write(
                toFile: "\(folder)/timerd/timerd.toml", atomically: false, encoding: .utf8)
        }
        let jobs = "\(scene.folder)/timerd/jobs.d"
        #expect(!scene.notices.watched.contains(jobs))
        mkdir(jobs, 0o755)
        #expect(scene.count("/timerd", "jobs.d", IN_CREATE | IN_ISDIR) == 1)
        #expect(scene.notices.watched.contains(jobs))
        #expect(scene.count("/timerd/jobs.d", "a.toml", IN_CLOSE_WRITE) == 1)
        // It is not watched any more when it was removed.
        rmdir(jobs)
        #expect(scene.count("/timerd/jobs.d", "", IN_DELETE_SELF) == 1)
        #expect(!scene.notices.watched.contains(jobs))
    }

    @Test func aDirectoryAboveThatIsReplacedIsNoticed() throws {
        let scene = try Scene("a/b/timerd.toml") { folder in
            for name in ["a", "a/b"] { mkdir("\(folder)/\(name)", 0o755) }
        }
        rename("\(scene.folder)/a", "\(scene.folder)/old")
        #expect(scene.count("/a", "", IN_MOVE_SELF) == 1)
        #expect(!scene.notices.watched.contains("\(scene.folder)/a/b"))
        // Directories that are created there are found.
        for name in ["a", "a/b"] { mkdir("\(scene.folder)/\(name)", 0o755) }
        #expect(scene.count("", "a", IN_CREATE | IN_ISDIR) == 1)
        #expect(scene.notices.watched.contains("\(scene.folder)/a/b"))
        #expect(scene.count("/a/b", "timerd.toml", IN_MOVED_TO) == 1)
        // Other events in the directories above do not count.
        #expect(scene.count("", "other", IN_CREATE) == 0)
    }

    /// As with a ConfigMap of Kubernetes: an update renames only `..data`.
    @Test func theDirectoriesThatLinksLeadToAreWatched() throws {
        let scene = try Scene { folder in
            mkdir("\(folder)/timerd/..1", 0o755)
            try "".write(
                toFile: "\(folder)/timerd/..1/timerd.toml", atomically: false, encoding: .utf8)
            #expect(symlink("..1", "\(folder)/timerd/..data") == 0)
            #expect(symlink("..data/timerd.toml", "\(folder)/timerd/timerd.toml") == 0)
            mkdir("\(folder)/stow", 0o755)
            #expect(symlink("../stow", "\(folder)/timerd/jobs.d") == 0)
            mkdir("\(folder)/far", 0o755)
            #expect(symlink("\(folder)/far/a", "\(folder)/stow/a.toml") == 0)
        }
        #expect(scene.count("/timerd", "..data", IN_MOVED_TO) == 1)
        #expect(scene.count("/timerd/..1", "timerd.toml", IN_CLOSE_WRITE) == 1)
        #expect(scene.count("/stow", "b.toml", IN_MOVED_TO) == 1)
        #expect(scene.count("/far", "a", IN_CLOSE_WRITE) == 1)
        #expect(scene.count("/far", "b.toml", IN_CLOSE_WRITE) == 0)
        // A loop of links leads to no file, and does not hang.
        unlink("\(scene.folder)/timerd/..data")
        #expect(symlink("..data", "\(scene.folder)/timerd/..data") == 0)
        #expect(scene.count("/timerd", "..data", IN_CREATE) == 1)
    }

    /// A file of dates counts from when it is named, also if it is not there yet.
    @Test func filesOfDatesAreWatched() throws {
        let scene = try Scene(make: plain)
        mkdir("\(scene.folder)/far", 0o755)
        #expect(scene.count("/timerd", "holidays.txt", IN_CLOSE_WRITE) == 0)
        let files = ["\(scene.folder)/timerd/holidays.txt", "\(scene.folder)/far/closed"]
        try #require(scene.watch).look(for: files)
        #expect(scene.count("/timerd", "holidays.txt", IN_CLOSE_WRITE) == 1)
        #expect(scene.count("/timerd", "other.txt", IN_CLOSE_WRITE) == 0)
        #expect(scene.count("/far", "closed", IN_MOVED_TO) == 1)
        #expect(scene.count("/timerd", "timerd.toml", IN_CLOSE_WRITE) == 1)
        try #require(scene.watch).look(for: [String]())
        #expect(!scene.notices.watched.contains("\(scene.folder)/far"))
        #expect(scene.count("/timerd", "holidays.txt", IN_CLOSE_WRITE) == 0)
    }

    @Test func withoutMoreWatchesOneWarningSaysSo() throws {
        let scene = try Scene(make: plain)
        scene.notices.fail(ENOSPC)
        scene.watch?.look()
        scene.watch?.look()
        #expect(scene.complaints.texts.count == 1)
        #expect(scene.complaints.texts.first?.contains("fs.inotify.max_user_watches") == true)
        #expect(scene.complaints.texts.first?.contains("timerctl reload") == true)
        // When more watches are possible, they are added.
        scene.notices.fail(nil)
        scene.watch?.look()
        #expect(scene.count("/timerd/jobs.d", "a.toml", IN_MOVED_TO) == 1)
        #expect(scene.complaints.texts.count == 1)
    }

    @Test func eventsThatWereDroppedMayHaveCounted() throws {
        let scene = try Scene(make: plain)
        #expect(scene.count("/timerd", "", IN_Q_OVERFLOW) == 1)
        #expect(scene.count("/timerd", "", IN_IGNORED) == 1)
    }
}
