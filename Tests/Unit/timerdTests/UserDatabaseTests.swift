// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import HostFiles

/// The look-ups in the user database, which all programs share.
@Suite struct UserDatabaseTests {
    /// Answers a look-up with these errnos, one after the other, then with an entry whose size is `bytes`.
    private static func find(
        _ codes: [Int32], bytes: Int = 1, isThere: Bool = true
    ) -> (answer: UserDatabase.Answer<Int>, sizes: [Int]) {
        var codes = codes
        var sizes: [Int] = []
        let answer = UserDatabase.find(0) { space, buffer, size, found in
            sizes.append(size)
            buffer.update(repeating: 1, count: size)
            if !codes.isEmpty { return codes.removeFirst() }
            guard size >= bytes else { return ERANGE }
            guard isThere else { return 0 }
            space.pointee = 42
            found.pointee = space
            return 0
        } copy: {
            $0 + 1
        }
        return (answer, sizes)
    }

    @Test func anEntryIsFoundOrMissing_orTheDatabaseFailed() {
        #expect(Self.find([]).answer == .found(43))
        #expect(Self.find([], isThere: false).answer == .missing)
        #expect(Self.find([EIO]).answer == .failed(EIO))
        // A signal arrived.
        #expect(Self.find([EINTR, EINTR]).answer == .found(43))
        #expect(Self.find([EINTR, EMFILE]).answer == .failed(EMFILE))
    }

    @Test func theBufferGrowsUpToALimit() {
        #expect(Self.find([], bytes: 5000).answer == .found(43))
        #expect(Self.find([], bytes: 5000).sizes == [1024, 2048, 4096, 8192])
        #expect(Self.find([], bytes: UserDatabase.entryBytesMax).answer == .found(43))
        let tooLarge = Self.find([], bytes: UserDatabase.entryBytesMax + 1)
        #expect(tooLarge.answer == .failed(ERANGE))
        #expect(tooLarge.sizes.last == UserDatabase.entryBytesMax)
    }

    @Test func usersAndGroupsOfThisMachineAreFound() throws {
        let root = try #require(UserDatabase.user(0).entry)
        #expect(UserDatabase.user(named: root.name) == .found(root))
        #expect(root.uid == 0 && !root.home.isEmpty)
        let group = try #require(getgrgid(root.gid)).pointee
        let name = String(cString: group.gr_name)
        #expect(UserDatabase.group(named: name) == .found(.init(name: name, gid: root.gid)))
        let groups = UserDatabase.groups(ofUser: root.name, primary: 12345, upTo: 65_536)
        #expect(groups?.contains(12345) == true)
        #expect(UserDatabase.groups(ofUser: root.name, primary: 12345, upTo: 0) == nil)
    }

    /// The last two would be read only up to their NUL.
    @Test(arguments: [
        "", "no-such-user-or-group", String(repeating: "x", count: 70_000), "root\0", "root\0x",
    ])
    func unknownNamesAreMissing(name: String) {
        #expect(UserDatabase.user(named: name) == .missing)
        #expect(UserDatabase.group(named: name) == .missing)
    }

    /// As some directory services answer, which accept numbers, short names, or other letters.
    @Test func anEntryWithAnotherNameIsMissing() {
        let root = UserDatabase.Group(name: "root", gid: 0)
        #expect(UserDatabase.Answer.found(root).named("root", \.name) == .found(root))
        for name in ["ghost", "0", "ROOT", "root ", "root\0"] {
            #expect(UserDatabase.Answer.found(root).named(name, \.name) == .missing)
        }
        // Swift takes these for equal.
        let composed = UserDatabase.Group(name: "caf\u{e9}", gid: 7)
        #expect(UserDatabase.Answer.found(composed).named("cafe\u{301}", \.name) == .missing)
        #expect(
            UserDatabase.Answer<UserDatabase.Group>.failed(EIO).named("x", \.name) == .failed(EIO))
    }

    @Test func aNumberWithoutAUserIsMissing() {
        // No user can have this number (chown(2)).
        #expect(UserDatabase.user(UInt32.max) == .missing)
    }
}
