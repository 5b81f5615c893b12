use super::*;
use serde_json::json;
use teamkeep_config::Pattern;

fn redactor() -> Redactor {
    Redactor::new(&Privacy::default(), &["/srv/people/ada".to_owned()]).unwrap()
}

fn redacted(text: &str) -> String {
    redactor().text(text).into_owned()
}

#[test]
fn secrets_are_replaced_and_the_text_around_them_is_kept() {
    let key = "A1b2C3d4E5f6G7h8I9j0K1l2";
    for (text, clean) in [
        (format!("use sk-ant-api03-{key} here"), "use [redacted:api-key] here"),
        (format!("ghp_{key}, github_pat_{key}"), "[redacted:api-key], [redacted:api-key]"),
        ("AKIAIOSFODNN7EXAMPLE".to_owned(), "[redacted:api-key]"),
        ("xoxb-123456789012-abc".to_owned(), "[redacted:api-key]"),
        (format!("Authorization: Bearer {key}"), "Authorization: Bearer [redacted:token]"),
        (format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{key}."), "[redacted:token]."),
        ("export DB_PASSWORD='hunter22' && x".to_owned(), "export DB_PASSWORD='[redacted:secret]' && x"),
        ("api_key: abc123def".to_owned(), "api_key: [redacted:secret]"),
        (format!("API_KEY=sk-{key}"), "API_KEY=[redacted:api-key]"),
        ("postgres://app:pa55word@db/x".to_owned(), "postgres://app:[redacted:secret]@db/x"),
        ("ask ada.l+x@example.co.uk.".to_owned(), "ask [redacted:email]."),
        ("cd /home/ada/src; ls /Users/bob".to_owned(), "cd ~/src; ls ~"),
        ("/srv/people/ada/x /srv/people/adam".to_owned(), "~/x /srv/people/adam"),
        ("projects/-srv-people-ada-x/a.jsonl".to_owned(), "projects/~-x/a.jsonl"),
        ("projects/-home-dev-parser/a.jsonl".to_owned(), "projects/~-parser/a.jsonl"),
    ] {
        assert_eq!(redacted(&text), clean, "{text}");
    }
}

#[test]
fn home_directories_of_windows_are_replaced() {
    let redactor =
        Redactor::new(&Privacy::default(), &[r"C:\Users\nina".to_owned(), r"D:\root\ute".to_owned()])
            .unwrap();
    for (text, clean) in [
        (r"cd C:\Users\nina\src", r"cd ~\src"),
        (r"see D:\root\ute\new and D:\root\uten", r"see ~\new and D:\root\uten"),
        (r#"{"cwd":"D:\\root\\ute\\new"}"#, r#"{"cwd":"~\\new"}"#),
        (r"copy C:\Users\Ada\notes E:\", r"copy C:~\notes E:\"),
        (
            r"C:\Users\Ada\.claude\projects\C--Users-Ada-parser\a.jsonl",
            r"C:~\.claude\projects\C-~-parser\a.jsonl",
        ),
        (r#"{"path":"projects\\C--Users-Ada\\a.jsonl"}"#, r#"{"path":"projects\\C-~\\a.jsonl"}"#),
        (r"projects\D--root-ute-parser\a.jsonl", r"projects\~-parser\a.jsonl"),
        (r"see C:\Users\bob\x and C:\Users\nora", r"see C:~\x and C:~"),
        (r#"let x = "C:\\Users\\nina\\repo", y = "C:\\Users\\ted";"#, r#"let x = "~\\repo", y = "C:~";"#),
        ("cd C:/Users/nina/x /c/Users/nina/x /mnt/c/users/NINA", "cd ~/x ~/x /mnt~"),
        ("D:/root/ute/x /d/root/ute/x", "~/x ~/x"),
        (r"c:\users\ada\x c:/users/ada/x", r"c:~\x c:~/x"),
        ("GET /users/42", "GET /users/42"),
        (r"C:\Users\Public\x", r"C:\Users\Public\x"),
        (r"\\server\home\ada\x \\wsl.localhost\Ubuntu\home\ada\y", r"\\server~\x \\wsl.localhost\Ubuntu~\y"),
        ("projects/-mnt-c-Users-ada-parser/a", "projects/-mnt-c~-parser/a"),
        (r"projects\--wsl-localhost-Ubuntu-home-ada-parser", r"projects\--wsl-localhost-Ubuntu~-parser"),
        (
            r"projects\C--users-ada-parser /c/users/ada/x /mnt/c/users/ada/x",
            r"projects\C-~-parser /c~/x /mnt/c~/x",
        ),
        (
            "projects/-var-home-ada-parser/a projects/-mnt-nas-home-ada",
            "projects/-var~-parser/a projects/-mnt-nas~",
        ),
        ("D--root-ute-a\nD--root-ute\n \"D--root-ute-b\"", "~-a\n~\n \"~-b\""),
        (r"in D:\root\ute. D:\root\ute.old", r"in ~. D:\root\ute.old"),
        (r"c:\users\public\x", r"c:\users\public\x"),
        (r"cwd:C:\Users\bob\x file:///C:/Users/bob/x", r"cwd:C:~\x file:///C:~/x"),
        (
            "redirect:/users/list http://users/api gs://users/a.csv",
            "redirect:/users/list http://users/api gs://users/a.csv",
        ),
        (
            r#"print("/home\n"); x = /^\/home\d/; y = r'/home/\d+/'"#,
            r#"print("/home\n"); x = /^\/home\d/; y = r'/home/\d+/'"#,
        ),
        (
            r"src\pages\home\HomePage.tsx App\\Users\\Models; \home\textbf{x}",
            r"src\pages\home\HomePage.tsx App\\Users\\Models; \home\textbf{x}",
        ),
        (
            "--nav-home-icon-size: 3px;\n-home-assistant\n--set-home-dir",
            "--nav-home-icon-size: 3px;\n-home-assistant\n--set-home-dir",
        ),
        ("C--Users-Ada", "C-~"),
        ("a C--Users-Ada, b--Users-Ada-x", "a C--Users-Ada, b--Users-Ada-x"),
    ] {
        assert_eq!(redactor.content(text), clean, "{text}");
    }
}

#[test]
fn the_values_of_cookies_are_replaced() {
    let key = "Q7x9ZkP2mV8tRw4LsB6nYd3J";
    let many = format!("Cookie: {}sid={key}", "a=b; ".repeat(700));
    for (text, clean) in [
        (format!("Cookie: lang=en; sid={key}; x=1"), "Cookie: lang=en; sid=[redacted:token]; x=1".to_owned()),
        (format!("Cookie: sid=\"{key}\"; x=1"), "Cookie: sid=\"[redacted:token]\"; x=1".to_owned()),
        (
            format!("Set-Cookie: sid=\"{key}\"; Path=/"),
            "Set-Cookie: sid=\"[redacted:token]\"; Path=/".to_owned(),
        ),
        (format!("curl -b 'sid={key}' -H 'x: y'"), "curl -b 'sid=[redacted:token]' -H 'x: y'".to_owned()),
        (format!("headers={{'Cookie': 'sid={key}'}}"), "headers={'Cookie': '[redacted:secret]'}".to_owned()),
        (
            format!("headers[\"Cookie\"] = \"sid={key}\""),
            "headers[\"Cookie\"] = \"[redacted:secret]\"".to_owned(),
        ),
        (format!("document.cookie = \"sid={key}\""), "document.cookie = \"[redacted:secret]\"".to_owned()),
        (format!("Cookie: a' b={key}"), format!("Cookie: a' b={key}")),
        (many.clone(), many.replace(key, "[redacted:token]")),
    ] {
        assert_eq!(redacted(&text), clean);
    }
}

#[test]
fn a_private_key_is_replaced_completely_even_if_it_is_truncated() {
    let body = "MIIEowIBAAKCAQEA7abc+/=\\n".repeat(3);
    let whole = format!("a -----BEGIN RSA PRIVATE KEY-----{body}-----END RSA PRIVATE KEY----- b");
    assert_eq!(redacted(&whole), "a [redacted:private-key] b");
    let cut = &whole[..whole.find("-----END").unwrap()];
    assert_eq!(redacted(&format!("{{\"x\":\"{cut}\"}}")), "{\"x\":\"a [redacted:private-key]\\n\"}");
}

#[test]
fn prose_and_code_are_unchanged() {
    for text in [
        "task-force-of-the-parser-team-17 asks: is the next token: an identifier?",
        "Token::Identifier(name) => self.tokens.push(token)",
        "alice@session-1353b3db, team-lead@parser-team",
        "the home page, /home, /Users/Shared, a tree-home-made",
        "the secret of it: nothing",
        "ünïcödé 👩‍💻 \u{202e} and \u{1b}[31m",
    ] {
        assert_eq!(redacted(text), text);
    }
    assert!(redactor().counts().is_empty());
}

#[test]
fn json_is_unchanged_except_for_secrets() {
    let redactor = redactor();
    let text = r#"{ "n": 1e400, "n": 12345678901234567890123, "é": "\ud83d", "ada@example.com": ["a\/b", "x \u0061da@example.com"],
  "password" : "short", "token": "", "deep": "{\"apiKey\":\"k3yk3yk3y\",\"to\":\"bob\"}" }"#;
    assert_eq!(
        redactor.json(text),
        r#"{ "n": 1e400, "n": 12345678901234567890123, "é": "\ud83d", "[redacted:email]": ["a\/b", "x [redacted:email]"],
  "password" : "[redacted:secret]", "token": "", "deep": "{\"apiKey\":\"[redacted:secret]\",\"to\":\"bob\"}" }"#
    );
    assert_eq!(redactor.counts(), [("email".to_owned(), 2), ("secret".to_owned(), 2)].into());
}

#[test]
fn a_file_is_redacted_by_its_format() {
    let redactor = redactor();
    for (text, clean) in [
        (
            "{\"password\":\"abcd\"}\n{\"password\":\"ab",
            "{\"password\":\"[redacted:secret]\"}\n{\"password\":\"[redacted:secret]\"",
        ),
        ("password=\"abcd1\"", "password=\"[redacted:secret]\""),
        ("{\"a\": \"x@example.com", "{\"a\": \"[redacted:email]\""),
        ("\"", "\""),
        ("\"a\\", "\"a\\"),
        ("", ""),
        ("{\"a\\\\\": 1}", "{\"a\\\\\": 1}"),
    ] {
        assert_eq!(redactor.content(text), clean, "{text}");
    }
}

#[test]
fn patterns_of_the_user_come_first_and_only_selected_rules_apply() {
    let pattern = vec![Pattern { name: "ticket".to_owned(), regex: "PROJ-[0-9]+".to_owned() }];
    let redactor =
        Redactor::new(&Privacy { redact: vec!["secret".to_owned()], pattern, ..Privacy::default() }, &[])
            .unwrap();
    assert_eq!(
        redactor.text("PROJ-17 by a@example.com, key_secret=PROJ-1"),
        "[redacted:ticket] by a@example.com, key_secret=[redacted:ticket]"
    );
    assert_eq!(redactor.path("teams/PROJ-1/x"), "teams/[redacted:ticket]/x");
    assert_eq!(redactor.counts(), [("ticket".to_owned(), 3)].into());
    let pattern = vec![Pattern { name: "x".to_owned(), regex: "(".to_owned() }];
    let error =
        Redactor::new(&Privacy { redact: Vec::new(), pattern, ..Privacy::default() }, &[]).unwrap_err();
    assert!(error.to_string().starts_with("cannot use the pattern \"x\" of the configuration: "), "{error}");
}

#[test]
fn a_placeholder_is_not_redacted_again() {
    let redactor = redactor();
    let text = "API_KEY=sk-0123456789abcdef0123 at /home/ada for ada@example.com";
    let once = redactor.text(text).into_owned();
    let counts = redactor.counts();
    assert_eq!(redactor.text(&once), once);
    assert_eq!(redactor.counts(), counts);
}

#[test]
fn a_secret_after_an_escape_is_found_in_text_that_is_not_decoded() {
    let key = "A1b2C3d4E5f6G7h8I9j0K1l2";
    let inner = json!({"type": "task_assignment", "password": "short", "description": format!(
        "line\nsk-ant-api03-{key}\n\tghp_{key}\nAKIAIOSFODNN7EXAMPLE\nxoxb-123456789012-abc\njane@example.org \
         password=\"hunter22pass\" \u{1f44d} the end"
    )});
    let once = json!({"text": inner.to_string()}).to_string();
    let twice = json!([once]).to_string();
    for text in
        [inner.to_string(), once.clone(), twice.clone(), format!("said: {once}"), format!("said: {twice}")]
    {
        // Complete, and truncated.
        for text in [&text[..], &text[..text.len() - 3]] {
            let clean = redactor().content(text).into_owned();
            for secret in [key, "AKIA", "xoxb", "jane", "hunter22", "short"] {
                assert!(!clean.contains(secret), "{secret} in {clean}");
            }
            assert!(clean.contains("task_assignment") && clean.contains("line"), "{clean}");
        }
    }
    let clean = redactor().json(&once).into_owned();
    let opened: serde_json::Value = serde_json::from_str(&clean).unwrap();
    let inner: serde_json::Value = serde_json::from_str(opened["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        inner["description"],
        "line\n[redacted:api-key]\n\t[redacted:api-key]\n[redacted:api-key]\n[redacted:api-key]\n[redacted:email] \
         password=\"[redacted:secret]\" \u{1f44d} the end"
    );
    assert_eq!(
        redacted(r#"a\njane@example.org\tb \u000aAKIAIOSFODNN7EXAMPLE"#),
        r#"a\n[redacted:email]\tb \u000a[redacted:api-key]"#
    );
}

#[test]
fn a_truncated_string_is_decoded_as_far_as_possible() {
    let key = "A1b2C3d4E5f6G7h8I9j0K1l2";
    for said in [
        format!(r"\nsk-ant-{key} \ud83d"),
        format!(r"\udc4d\tsk\u002dant-{key}"),
        format!(r"\ud83d\ud83d sk-ant\u002D{key}\q"),
        format!("a raw\tTab and \\nsk-ant-{key}\\ud83d"),
        format!(r#"{{\"password\":\"{key}\",\"x\":\"\ud83d\\ud83d"#),
        format!(r#"p\u0061ssword=\"{key}\" \ud83d"#),
    ] {
        for text in [
            format!("{{\"a\":\"{said}\"}}"),
            format!("{{\"a\":\"{said}"),
            format!("{{\"a\":\"{said}\\"),
            format!("{{\"a\":\"{said}\\u12"),
            format!("{{\"b\":1}}\n{{\"a\":\"{said}"),
            format!("torn\",\"a\":\"{said}\"}}"),
        ] {
            let redactor = redactor();
            let clean = redactor.content(&text);
            assert!(!clean.contains(key), "{clean}");
            assert!(!redactor.counts().is_empty(), "{text}");
        }
    }
    let (text, clean) =
        (r#"{"a":"\ud83d ada@example.com \ude00"}"#, r#"{"a":"\ud83d [redacted:email] \ude00"}"#);
    assert_eq!(redactor().json(text), clean);
}

#[test]
fn a_quoted_secret_in_a_shell_command_is_found() {
    assert_eq!(
        redacted(r#"bash -c "export TOKEN=\"Zq81hdkwPPmsF6\"""#),
        r#"bash -c "export TOKEN=\"[redacted:secret]\"""#
    );
}

#[test]
fn lists_objects_and_numbers_under_a_secret_key_are_replaced() {
    let text = r#"{"apiKey":["listsecret1234", ["x"]], "secret":{"v":"nestedsecret99","n":-1.5e3,"t":true,"z":null},
 "password":12345678, "accessToken" : [{"a":"b"}, 7 ], "token":{"kind":"ident","line":3}, "token":4, "n":5, "after":"b"}"#;
    let clean = r#"{"apiKey":["[redacted:secret]", ["[redacted:secret]"]], "secret":{"v":"[redacted:secret]","n":"[redacted:secret]","t":true,"z":null},
 "password":"[redacted:secret]", "accessToken" : [{"a":"[redacted:secret]"}, "[redacted:secret]" ], "token":{"kind":"ident","line":3}, "token":4, "n":5, "after":"b"}"#;
    assert_eq!(redactor().json(text), clean);
    let torn = redactor().content(r#"cut","password":12345678,"apiKey": ["listsecret1234","x"#).into_owned();
    assert!(!torn.contains("12345678") && !torn.contains("listsecret"), "{torn}");
}

#[test]
fn a_password_in_the_arguments_of_curl_is_found() {
    for (text, clean) in [
        ("curl -u user:PW https://x", "curl -u user:[redacted:secret] https://x"),
        ("curl -sS -H 'a: b;c' --user 'me:p w' x", "curl -sS -H 'a: b;c' --user 'me:[redacted:secret]' x"),
        (r#"bash -c "curl -uuser:\"PW\" x""#, r#"bash -c "curl -uuser:\"[redacted:secret]\" x""#),
        ("curl --proxy-user=a:b x", "curl --proxy-user=a:[redacted:secret] x"),
        ("curl --url http://x:8080 -u me", "curl --url http://x:8080 -u me"),
    ] {
        assert_eq!(redacted(text), clean);
    }
}

#[test]
fn an_address_in_a_file_name_is_replaced_without_the_extension() {
    let redactor = redactor();
    for (text, clean) in [
        ("teams/x/inboxes/jane@example.org.json", "teams/x/inboxes/[redacted:email].json"),
        ("inboxes/jane@example.org.json.lock", "inboxes/[redacted:email].json.lock"),
        ("a@example.org.jsonl", "[redacted:email].jsonl"),
        ("a@example.org", "[redacted:email]"),
        ("a@example.json", "a@example.json"),
    ] {
        assert_eq!(redactor.path(text), clean);
        assert_eq!(redactor.text(text), clean);
    }
    let said = "see inboxes/jane@example.org.json, or ask jane@example.org.";
    assert_eq!(redactor.text(said), "see inboxes/[redacted:email].json, or ask [redacted:email].");
}
