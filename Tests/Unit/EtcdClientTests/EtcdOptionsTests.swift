// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import TimerCore
import TimerFleet
import Testing

@testable import EtcdClient

/// What can be configured, and what each error says.
@Suite struct EtcdOptionsTests {
    private func error(_ change: (inout EtcdOptions) -> Void) -> EtcdError? {
        var options = EtcdOptions(endpoints: ["https://10.0.0.1:2379"], fleet: "prod")
        change(&options)
        do throws(EtcdError) {
            _ = try options.checked()
            return nil
        } catch { return error }
    }

    @Test(arguments: [
        ("https://10.0.0.1:2379", "https://10.0.0.1:2379", true, false),
        ("http://127.0.0.1:2379/", "http://127.0.0.1:2379", false, true),
        ("http://127.1:2379", "http://127.0.0.1:2379", false, true),
        ("http://[::1]:2379", "http://[::1]:2379", false, true),
        ("https://etcd1.example.org:443", "https://etcd1.example.org:443", true, false),
        ("http://localhost:1", "http://localhost:1", false, true),
        ("http://127.0.0.1.example.org:1", "http://127.0.0.1.example.org:1", false, false),
    ])
    func endpoints(text: String, url: String, isEncrypted: Bool, isLocal: Bool) throws {
        let endpoint = try EtcdEndpoint(text)
        #expect(endpoint.url == url)
        #expect(endpoint.isEncrypted == isEncrypted)
        #expect(endpoint.isLocal == isLocal)
    }

    @Test(arguments: [
        ("", "URL"), ("10.0.0.1:2379", "URL"), ("10.0.0.1", "URL"),
        ("ftp://10.0.0.1:2379", "begins with"), ("unix:///run/etcd", "URL"),
        ("file:///etc/passwd", "begins with"), ("https://10.0.0.1", "port is missing"),
        ("https://a:b@10.0.0.1:2379", "nothing else"), ("https://a@10.0.0.1:2379", "nothing else"),
        ("https://10.0.0.1:2379/v3", "nothing else"), ("https://10.0.0.1:2379?x", "nothing else"),
        ("https://10.0.0.1:2379#x", "nothing else"), ("https://10.0.0.1:99999", "URL"),
        ("https://10.0.0.1:2379\r\nX: y", "printable"), ("https:// :2379", "printable"),
        ("https://\u{1b}[2J:1", "printable"), (String(repeating: "a", count: 301), "at most 300"),
    ])
    func otherEndpointsAreRefused(text: String, says: String) {
        let found = error { $0.endpoints = [text] }
        #expect(found?.code == .invalidOptions)
        #expect(found?.effect == .notSent)
        #expect(found?.description.contains(says) == true, "\(found?.description ?? "accepted")")
    }

    @Test func optionsMustFitTogether() {
        #expect(error { _ in } == nil)
        #expect(error { $0.endpoints = [] } != nil)
        #expect(error { $0.endpoints = Array(repeating: "http://a:1", count: 17) } != nil)
        #expect(error { $0.certificate = "/a" } != nil)
        #expect(error { $0.key = "/a" } != nil)
        #expect(error { ($0.certificate, $0.key) = ("/a", "/b") } == nil)
        #expect(error { $0.user = "a" } != nil)
        #expect(error { $0.password = "a" } != nil)
        #expect(error { ($0.user, $0.password) = ("a", "b") } == nil)
        #expect(error { $0.timeout = .zero } != nil)
        #expect(error { $0.replyBytesMax = 0 } != nil)
    }

    /// A password or a certificate that protects nothing.
    @Test func aPasswordNeedsTLS_exceptOnThisMachine() {
        #expect(
            error {
                $0.endpoints = ["https://10.0.0.1:1", "http://10.0.0.2:1"]
                ($0.user, $0.password) = ("a", "b")
            }?.place == "http://10.0.0.2:1")
        #expect(
            error {
                $0.endpoints = ["http://127.0.0.1:1"]
                ($0.user, $0.password) = ("a", "b")
            } == nil)
        #expect(
            error {
                $0.endpoints = ["http://127.0.0.1:1"]
                $0.ca = "/ca.pem"
            } != nil)
    }

    /// Each error says what is wrong and what to do, on one line.
    @Test(arguments: EtcdError.Code.allCases)
    func everyErrorIsASentence(code: EtcdError.Code) {
        let error = EtcdError(code, at: "https://10.0.0.1:2379", "the cause")
        #expect(!error.sentence.isEmpty && !error.advice.isEmpty)
        #expect(error.description.hasPrefix("https://10.0.0.1:2379: "))
        #expect(error.description.contains("(the cause); "))
        #expect(!error.description.contains("\n"))
    }

    @Test func filesThatAreMissingAreNamed() throws {
        var options = EtcdOptions(endpoints: ["https://127.0.0.1:1"], fleet: "prod")
        options.ca = "/missing/ca.pem"
        let server = FakeEtcd { _ in [.close] }
        defer { server.stop() }
        options.endpoints = ["https://127.0.0.1:\(server.port)"]
        let outcome = try EtcdClient(options, clock: Fixtures.clock())
            .execute(Fixtures.transaction).summary
        #expect(outcome.word == "not sent")
        #expect(outcome.error?.code == .certificateFile)
        #expect(outcome.error?.description.contains("/missing/ca.pem") == true)
    }
}

@Suite struct Base64Tests {
    /// The vectors of RFC 4648, 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
    func vectors(bytes: String, text: String) {
        #expect(Base64.encode(bytes.utf8) == text)
        #expect(Base64.decode(text) == Array(bytes.utf8))
    }

    @Test(arguments: [
        "A", "AA", "AAA", "====", "A===", "AA=A", "AB==", "AAB=", "A?==", "ä==", "Zg==Zg==",
    ])
    func otherTextsAreRefused(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test func randomBytes() {
        var random = SeededRandom()
        for _ in 0..<2000 {
            let bytes = (0..<random.int(below: 40)).map { _ in UInt8(random.int(below: 256)) }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            var text = Array(Base64.encode(bytes).utf8)
            guard !text.isEmpty else { continue }
            text[random.int(below: text.count)] = UInt8(random.int(below: 128))
            let changed = String(decoding: text, as: UTF8.self)
            // What is accepted has one text only.
            if let decoded = Base64.decode(changed) { #expect(Base64.encode(decoded) == changed) }
        }
    }
}
