int f(std::string s);
