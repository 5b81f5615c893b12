fn main() {
    println!("tomlfmt: nothing to format yet");
}
