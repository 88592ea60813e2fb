// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A folder in a file system that nobody serves: whoever looks into it waits, as on a file server that is gone or in
/// a FUSE file system whose user does not answer.
final class HangingFolder: Sendable {
    let path: String
    private let parent: String
    private let descriptor: Int32

    /// Whether there can be one: it takes root and FUSE.
    static var isPossible: Bool { (try? HangingFolder()) != nil }

    struct Missing: Error {}

    init() throws {
        // Below another one: whoever lists /tmp, and looks at what is there, meets that one alone.
        parent = "/tmp/timerd-hanging-\(UUID().uuidString)"
        path = "\(parent)/folder"
        descriptor = open("/dev/fuse", O_RDWR | O_CLOEXEC)
        guard geteuid() == 0, descriptor >= 0, mkdir(parent, 0o755) == 0,
            mkdir(path, 0o755) == 0
        else {
            if descriptor >= 0 { close(descriptor) }
            throw Missing()
        }
        let options = "fd=\(descriptor),rootmode=40000,user_id=0,group_id=0,allow_other"
        // MS_NOSUID and MS_NODEV.
        guard Native.mount("hanging", path, "fuse", 2 | 4, options) == 0 else {
            rmdir(path)
            rmdir(parent)
            close(descriptor)
            throw Missing()
        }
    }

    /// Whoever waits gets an error.
    deinit {
        Native.detach(path)
        close(descriptor)
        rmdir(path)
        rmdir(parent)
    }
}
