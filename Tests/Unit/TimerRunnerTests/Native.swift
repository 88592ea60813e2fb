// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Variadic functions of the C library, which Swift does not import.
enum Native {
    /// prctl(2).
    static func prctl(_ option: Int32, _ argument: UInt = 0) -> Int32 {
        typealias Function = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
        return unsafeBitCast(find("prctl"), to: Function.self)(option, argument, 0, 0, 0)
    }

    /// The id of the calling thread's session keyring (keyctl(2), KEYCTL_GET_KEYRING_ID); not above
    /// 0 if there is none.
    static func keySession() -> Int {
        typealias Function = @convention(c) (Int, Int, Int, Int) -> Int
        #if arch(arm64)
            let keyctl = 219
        #else
            let keyctl = 250
        #endif
        return unsafeBitCast(find("syscall"), to: Function.self)(keyctl, 0, -3, 0)
    }

    /// capget(2) or capset(2).
    static func capabilities(
        _ name: String, _ head: UnsafeMutablePointer<UInt32>, _ sets: UnsafeMutablePointer<UInt32>
    ) -> Int32 {
        typealias Function =
            @convention(c) (UnsafeMutablePointer<UInt32>, UnsafeMutablePointer<UInt32>) -> Int32
        return unsafeBitCast(find(name), to: Function.self)(head, sets)
    }

    /// mount(2).
    static func mount(
        _ source: String, _ target: String, _ type: String, _ flags: UInt, _ data: String
    ) -> Int32 {
        typealias Function =
            @convention(c) (
                UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafePointer<CChar>, UInt,
                UnsafePointer<CChar>
            ) -> Int32
        return unsafeBitCast(find("mount"), to: Function.self)(source, target, type, flags, data)
    }

    /// Gives the calling thread a network of its own, with unshare(2); false if it may not have one.
    static func leaveNetwork() -> Bool {
        typealias Function = @convention(c) (Int32) -> Int32
        // CLONE_NEWNET.
        return unsafeBitCast(find("unshare"), to: Function.self)(0x4000_0000) == 0
    }

    /// Sets whether the interface `lo` of the calling thread's network is enabled, see netdevice(7).
    static func setLoopback(isUp: Bool) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        // struct ifreq: 16 bytes for the name, then the flags.
        var request = [UInt8](repeating: 0, count: 40)
        request.replaceSubrange(0..<2, with: "lo".utf8)
        request[16] = isUp ? UInt8(IFF_UP) : 0
        // SIOCSIFFLAGS.
        return ioctl(descriptor, 0x8914, &request) == 0
    }

    /// umount2(2), with MNT_DETACH.
    static func detach(_ target: String) {
        typealias Function = @convention(c) (UnsafePointer<CChar>, Int32) -> Int32
        _ = unsafeBitCast(find("umount2"), to: Function.self)(target, 2)
    }

    private static func find(_ name: String) -> UnsafeMutableRawPointer { dlsym(nil, name)! }
}
