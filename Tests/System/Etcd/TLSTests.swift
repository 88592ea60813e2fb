// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TimerCore
import TimerFleet
import Testing

@testable import EtcdClient

extension RealEtcdTests {
    /// Certificates of both sides, made with openssl.
    @Suite struct TLS {
        /// A certificate authority, and certificates that it signed.
        private struct Authority {
            let folder: URL

            init(_ name: String) throws {
                folder = FileManager.default.temporaryDirectory.appendingPathComponent(
                    "ca-\(name)-\(UUID().uuidString)")
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true)
                try openssl([
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-keyout", path("ca.key"), "-out", path("ca.pem"), "-days", "2",
                    "-subj", "/CN=\(name)",
                ])
            }

            func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

            /// Signs a certificate.
            ///
            /// - Parameter host: its alternative name; nil: that of a client.
            func sign(_ name: String, host: String? = nil, days: Int = 1) throws {
                try openssl([
                    "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", path("\(name).key"), "-out", path("\(name).csr"), "-subj",
                    "/CN=\(name)",
                ])
                // The gateway of etcd uses the certificate of the server as that of a client.
                let extensions =
                    "extendedKeyUsage=serverAuth,clientAuth\n"
                    + (host.map { "subjectAltName=\($0)\n" } ?? "")
                try extensions.write(
                    toFile: path("\(name).ext"), atomically: true, encoding: .utf8)
                try openssl([
                    "x509", "-req", "-in", path("\(name).csr"), "-CA", path("ca.pem"), "-CAkey",
                    path("ca.key"), "-CAcreateserial", "-out", path("\(name).pem"), "-days",
                    "\(days)", "-extfile", path("\(name).ext"),
                ])
            }

            private func openssl(_ arguments: [String]) throws {
                let process = Process()
                process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
                process.arguments = ["openssl"] + arguments
                process.standardError = FileHandle.nullDevice
                try process.run()
                process.waitUntilExit()
                guard process.terminationStatus == 0 else {
                    throw EtcdCluster.Failure(description: "openssl \(arguments) fails")
                }
            }
        }

        private static let transaction = FleetTransaction(
            compares: [], changes: [.put(.clock, "a", lease: nil)], reads: [])

        private func outcome(
            _ urls: [String], _ change: (inout EtcdOptions) -> Void
        ) throws -> (word: String, code: EtcdError.Code?, error: EtcdError?) {
            let client = try EtcdClient(urls, change)
            switch client.execute(Self.transaction) {
            case .answered: return ("answered", nil, nil)
            case .rejected(let error): return ("rejected", error.code, error)
            case .notSent(let error): return ("not sent", error.code, error)
            case .unknown(let error): return ("unknown", error.code, error)
            }
        }

        private func waitUntilReady(
            _ cluster: EtcdCluster, _ change: (inout EtcdOptions) -> Void
        ) throws {
            try EtcdCluster.wait("etcd answers over TLS") {
                let client = try EtcdClient(cluster.urls, change)
                return client.statuses().allSatisfy { (try? $0.get())?.hasLeader == true }
            }
        }

        @Test func certificatesOfBothSidesAreChecked() throws {
            let (ours, other) = (try Authority("ours"), try Authority("other"))
            try ours.sign("server", host: "IP:127.0.0.1,DNS:localhost")
            try ours.sign("client")
            try other.sign("client")
            let cluster = try EtcdCluster(
                scheme: "https",
                [
                    "--cert-file", ours.path("server.pem"), "--key-file", ours.path("server.key"),
                    "--client-cert-auth", "--trusted-ca-file", ours.path("ca.pem"),
                ])
            func use(_ ca: Authority?, _ client: Authority?) -> (inout EtcdOptions) -> Void {
                {
                    $0.ca = ca?.path("ca.pem")
                    $0.certificate = client?.path("client.pem")
                    $0.key = client?.path("client.key")
                }
            }
            try waitUntilReady(cluster, use(ours, ours))
            #expect(try outcome(cluster.urls, use(ours, ours)).word == "answered")
            // Ours are not those of etcd.
            for change in [use(other, ours), use(nil, ours)] {
                let refused = try outcome(cluster.urls, change)
                #expect(refused.code == .untrusted && refused.word == "not sent", "\(refused)")
            }
            // etcd does not accept ours.
            for change in [use(ours, nil), use(ours, other)] {
                let refused = try outcome(cluster.urls, change)
                #expect(refused.word != "answered")
                #expect(
                    refused.code == .certificateRefused || refused.code == .connectionLost,
                    "\(refused)")
            }
            try expectOthersRefused(cluster, ours)
        }

        /// `timerd-fleet` with certificates, and its memory if TIMERD_FLEET names a release build.
        @Test func theProcessUsesTheCertificates() throws {
            let ours = try Authority("ours")
            try ours.sign("server", host: "IP:127.0.0.1")
            try ours.sign("client")
            let cluster = try EtcdCluster(
                scheme: "https",
                [
                    "--cert-file", ours.path("server.pem"), "--key-file", ours.path("server.key"),
                    "--client-cert-auth", "--trusted-ca-file", ours.path("ca.pem"),
                ])
            let fleet = try FleetProcess(
                cluster.urls,
                more: """
                    ca = "\(ours.path("ca.pem"))"
                    certificate = "\(ours.path("client.pem"))"
                    key = "\(ours.path("client.key"))"
                    """)
            let scheduler = try Scheduler(fleet.socket)
            let lease = try scheduler.lease()
            _ = try scheduler.load()
            for id in 0..<200 { scheduler.put(id, .clock, "\(id)") }
            for id in 0..<200 { #expect(try scheduler.answer(id)?.branches == [.applied]) }
            try scheduler.change(.clock, "199")
            #expect(try scheduler.keep(lease))
            let isDated = try scheduler.wait("the clock of the member") { event -> Bool? in
                if case .dated = event { true } else { nil }
            }
            #expect(isDated)
            let memory = try fleet.memory()
            print("timerd-fleet with TLS: \(memory.now) KiB resident, \(memory.peak) KiB at most")
            // 18 MB, and what differs from run to run.
            if FleetProcess.isRelease { #expect(memory.now * 1024 <= 18_500_000) }
        }

        /// Wrong files, a wrong host, and a port that does not speak TLS.
        private func expectOthersRefused(_ cluster: EtcdCluster, _ ours: Authority) throws {
            let missing = try outcome(cluster.urls) {
                ($0.ca, $0.certificate, $0.key) = (ours.path("ca.pem"), "/missing", "/missing")
            }
            #expect(missing.code == .certificateFile && missing.word == "not sent", "\(missing)")
            let mixed = try outcome(cluster.urls) {
                ($0.ca, $0.certificate, $0.key) = (
                    ours.path("ca.pem"), ours.path("client.pem"), ours.path("server.key")
                )
            }
            #expect(mixed.code == .certificateFile && mixed.word == "not sent", "\(mixed)")
            // The certificate has 127.0.0.1 and localhost, and not 127.0.0.2.
            let host = cluster.urls.map { $0.replacing("127.0.0.1", with: "[::ffff:127.0.0.1]") }
            let wrong = try outcome(host) { $0.ca = ours.path("ca.pem") }
            #expect(wrong.code == .untrusted && wrong.word == "not sent", "\(wrong)")
            let plain = cluster.urls.map { $0.replacing("https", with: "http") }
            let spoken = try outcome(plain) { _ in }
            #expect(spoken.code == .notEtcd || spoken.code == .connectionLost, "\(spoken)")
            let unencrypted = try EtcdCluster()
            let tls = unencrypted.urls.map { $0.replacing("http:", with: "https:") }
            let failed = try outcome(tls) { $0.ca = ours.path("ca.pem") }
            #expect(failed.code == .tlsFailed && failed.word == "not sent", "\(failed)")
        }

        /// A renewed certificate counts from the next connection on, without a restart.
        @Test func aPasswordOverTLS_andARenewedAuthority() throws {
            let (old, new) = (try Authority("old"), try Authority("new"))
            try new.sign("server", host: "IP:127.0.0.1")
            let ca = old.path("used.pem")
            try FileManager.default.copyItem(atPath: old.path("ca.pem"), toPath: ca)
            let cluster = try EtcdCluster(
                scheme: "https",
                ["--cert-file", new.path("server.pem"), "--key-file", new.path("server.key")])
            try waitUntilReady(cluster) { $0.ca = new.path("ca.pem") }
            let client = try EtcdClient(cluster.urls) { $0.ca = ca }
            guard case .notSent(let error) = client.execute(Self.transaction) else {
                Issue.record("the old authority is enough")
                return
            }
            #expect(error.code == .untrusted)
            try FileManager.default.removeItem(atPath: ca)
            try FileManager.default.copyItem(atPath: new.path("ca.pem"), toPath: ca)
            guard case .answered = client.execute(Self.transaction) else {
                Issue.record("the new authority does not count")
                return
            }
            let off = try outcome(cluster.urls) {
                $0.ca = ca
                ($0.user, $0.password) = ("timerd", "secret")
            }
            #expect(off.code == .authenticationOff)
        }
    }
}
