// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A folder in a file system without a server: every access to it hangs, as with a file server that
/// is down or a FUSE file system whose user does not respond.
final class HangingFolder: Sendable {
    let path: String
    private let parent: String
    private let descriptor: Int32

    /// Whether it can be created: this needs root and FUSE.
    static var isPossible: Bool { (try? HangingFolder()) != nil }

    struct Missing: Error {}

    init() throws {
        // It is below another folder, so that a program that lists /tmp and examines the entries
        // only meets the outer one.
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

    /// Every hanging access gets an error.
    deinit {
        Native.detach(path)
        close(descriptor)
        rmdir(path)
        rmdir(parent)
    }
}
